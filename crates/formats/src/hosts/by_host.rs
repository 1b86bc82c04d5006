//! Texts of `pdsh`, `ansible`, `pssh -i`, `docker compose logs` and `kubectl logs --prefix`: outputs of one tool on
//! several hosts or in several containers, in one text.
//!
//! pdsh puts `db1: ` in front of every line, and the lines of hosts alternate; ansible puts `db1 | CHANGED | rc=0 >>` above
//! each host's output, pssh `[1] 08:19:03 [SUCCESS] db1`. Compose puts `web-1  | ` in front of every line, kubectl
//! `[pod/web-0/app] `: the container or pod is the host. The text is split by host, and each host's part is read in the
//! format that recognises it, shipped or of a store. It is held in memory, within a limit. Only a text whose every line has
//! its host, and of which a format recognises the rest with certainty, is taken for one.

use std::sync::Arc;

use super::{prompt::is_host, segment::Segment};
use crate::{AnyFormat, Family, Format, Formats, Head, Input, Out, OwnFormat, Sure};

/// Importer for pdsh, ansible, pssh -i, docker compose logs, kubectl logs --prefix.
pub static FORMAT: Format = Format {
    name: "by-host",
    summary: "pdsh, ansible, pssh -i, docker compose logs, kubectl logs --prefix: outputs of any other format by host or container",
    family: Family::Generic,
    tables: fenxi_model::TABLES,
    example: "\
db1: procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----
db2: procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----
db1:  r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
db2:  r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
db1:  1  0      0 401348  84120 812344    0    0    12   134  512  901 12  3 84  1  0
db2:  0  0      0 391348  84120 812344    0    0    12   134  512  901  2  3 94  1  0
",
    sniff,
    read,
};

/// Text of all hosts that is held in memory.
const MOST_BYTES: usize = 128 << 20;
/// Hosts of one text.
const MOST_HOSTS: usize = 4096;
/// Lines of one host, at least, from which a format is recognised.
const MIN_LINES: usize = 2;

/// How the text shows which host a line is of.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Style {
    /// In front of every line.
    Prefix,
    /// In front of every line, filled up with blanks: a container.
    Compose,
    /// In front of every line, in brackets: a pod and its container.
    Pod,
    /// On a line above its output.
    Ansible,
    /// As ansible, in another form.
    Pssh,
}

impl Style {
    /// The style of a text by its first line that is not blank.
    fn of(head: &str) -> Option<Style> {
        let first = head.lines().find(|line| !line.trim().is_empty())?;
        [Style::Ansible, Style::Pssh, Style::Pod, Style::Compose, Style::Prefix]
            .into_iter()
            .find(|style| style.host(first).is_some())
    }

    /// Whether hosts are named on separate lines.
    fn is_above(self) -> bool {
        matches!(self, Style::Ansible | Style::Pssh)
    }

    /// The host that a line names, and what follows the name on the line.
    fn host(self, line: &str) -> Option<(&str, &str)> {
        let (host, rest) = match self {
            Style::Prefix => {
                let (host, rest) = line.split_once(':')?;
                // A blank follows, or nothing where blanks at the ends of lines were removed.
                (host, if rest.is_empty() { "" } else { rest.strip_prefix(' ')? })
            }
            Style::Compose => {
                let (host, rest) = line.split_once(" |")?;
                (host.trim_end(), if rest.is_empty() { "" } else { rest.strip_prefix(' ')? })
            }
            Style::Pod => {
                let (pod, rest) = line.strip_prefix("[pod/")?.split_once(']')?;
                (pod.split('/').next()?, if rest.is_empty() { "" } else { rest.strip_prefix(' ')? })
            }
            Style::Ansible => {
                let (host, rest) = line.split_once(" | ")?;
                let (status, code) = rest.strip_suffix(" >>")?.split_once(" | ")?;
                let own = matches!(status, "CHANGED" | "SUCCESS" | "FAILED") && code.starts_with("rc=");
                (host, own.then_some("")?)
            }
            Style::Pssh => {
                let (number, rest) = line.strip_prefix('[')?.split_once("] ")?;
                let (_, rest) = rest.split_once(" [").filter(|_| number.bytes().all(|b| b.is_ascii_digit()))?;
                let (status, host) = rest.split_once("] ")?;
                let host = host.split(' ').next()?.rsplit('@').next()?.split(':').next()?;
                (host, matches!(status, "SUCCESS" | "FAILURE").then_some("")?)
            }
        };
        is_host(host).then_some((host, rest))
    }
}

/// Splits lines by host.
struct Parts {
    style: Style,
    parts: Vec<Segment>,
    /// The host of the lines that follow.
    current: Option<usize>,
    bytes: usize,
}

impl Parts {
    fn new(style: Style) -> Parts {
        Parts { style, parts: Vec::new(), current: None, bytes: 0 }
    }

    /// Takes a line; false when it has no host or there is no room for it.
    fn add(&mut self, number: u64, line: &str) -> bool {
        let mut text = line;
        if let Some((host, rest)) = self.style.host(line) {
            self.current = self.at(host);
            if self.style.is_above() {
                return self.current.is_some();
            }
            text = rest;
        } else if !self.style.is_above() {
            return line.trim().is_empty();
        }
        let Some(part) = self.current.and_then(|at| self.parts.get_mut(at)) else { return line.trim().is_empty() };
        if self.bytes > MOST_BYTES {
            return false;
        }
        self.bytes += part.add(number, text);
        true
    }

    /// The place of a host's part.
    fn at(&mut self, host: &str) -> Option<usize> {
        let found = self.parts.iter().position(|part| part.host == host);
        if found.is_some() || self.parts.len() >= MOST_HOSTS {
            return found;
        }
        self.parts.push(Segment { host: host.to_owned(), ..Segment::default() });
        Some(self.parts.len() - 1)
    }
}

/// The parts of a text that begins so, if every line has its host.
fn parts_of(head: &Head<'_>) -> Option<Vec<Segment>> {
    let style = Style::of(head.text)?;
    let mut parts = Parts::new(style);
    let mut lines = head.text.lines().peekable();
    let mut number = 0;
    while let Some(line) = lines.next() {
        number += 1;
        // The last line may be cut.
        if !parts.add(number, line) && lines.peek().is_some() {
            return None;
        }
    }
    // Names in front of figures are of many texts: hosts are few, and each has several lines.
    if !style.is_above() && (parts.parts.len() * MIN_LINES) as u64 > number {
        return None;
    }
    parts.parts.retain(|part| part.lines.len() >= MIN_LINES);
    Some(parts.parts)
}

fn sniff(head: &Head<'_>) -> Sure {
    let parts = parts_of(head).unwrap_or_default();
    let format = parts.first().and_then(|part| part.format(&Formats::default()));
    Sure::Certain.when(format.is_some_and(|(sure, _)| sure == Sure::Certain))
}

/// The formats of a store among `formats` that recognise parts of a text of so many hosts at least; None when no part is of any.
pub(crate) fn own_of(formats: &Formats, head: &Head<'_>, hosts: usize) -> Option<Vec<Arc<dyn OwnFormat>>> {
    if formats.own().iter().all(|format| format.about().is_program || !format.about().recognises) {
        return None;
    }
    let mut found: Vec<Arc<dyn OwnFormat>> = Vec::new();
    for part in parts_of(head).filter(|parts| parts.len() >= hosts)? {
        if let Some((_, AnyFormat::Own(own))) = part.format(formats)
            && !found.iter().any(|known| known.about().name == own.about().name)
        {
            found.push(own);
        }
    }
    (!found.is_empty()).then_some(found)
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    read_among(&Formats::default(), input, out);
}

/// Reads a text whose parts are of any of `formats`.
pub(crate) fn read_among(formats: &Formats, input: &mut Input<'_>, out: &mut Out<'_>) {
    let Some(style) = Style::of(&input.head()) else {
        out.note(None, "no host in front of the first line, nor above it");
        return;
    };
    let mut parts = Parts::new(style);
    input.each_line(|number, line| {
        if !parts.add(number, line) {
            out.unknown(number, line, "a line without its host, or beyond the limit of what is held in memory");
        }
    });
    for part in parts.parts {
        if part.text.trim().is_empty() {
            continue;
        }
        match part.format(formats) {
            Some((sure, format)) if sure > Sure::Perhaps => {
                out.begin_part(format.name(), &part.host, part.lines);
                format.read(&mut out.part(Input::new(part.text.as_bytes())), out);
                out.end_part(FORMAT.name);
            }
            _ => {
                let line = part.text.lines().next().unwrap_or("");
                let number = part.lines.first().copied().unwrap_or(1);
                out.unknown(number, line, &format!("nothing that is recognised from the host {}", part.host));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{FORMAT, Style};
    use crate::{
        AnyFormat, Formats, Head, Hints, Sure, TextFormat, detect,
        fixtures::{read, read_any},
        format,
    };

    const VMSTAT: &str = "\
procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
 1  0      0 401348  84120 812344    0    0    12   134  512  901 12  3 84  1  0
 2  0      0 401300  84120 812344    0    0    12   134  512  901 22  3 74  1  0
";

    fn prefixed(host: &str) -> String {
        VMSTAT.lines().map(|line| format!("{host}: {line}\n")).collect()
    }

    /// Lines of the table called `name`.
    fn rows(text: &str, name: &str) -> Vec<String> {
        let after = text.split(&format!("# {name}\n")).nth(1).unwrap_or("");
        after.lines().take_while(|line| !line.starts_with('#')).map(str::to_owned).collect()
    }

    #[test]
    fn each_host_gives_the_rows_that_its_part_alone_gives() {
        let whole = read(&FORMAT, (prefixed("db1") + &prefixed("db2")).as_bytes());
        let alone = read(format("vmstat").unwrap(), VMSTAT.as_bytes());
        let expected = rows(&alone.text, "cpu");
        assert!(expected.len() > 1);
        for host in ["db1", "db2"] {
            let mut found = rows(&whole.text, "cpu");
            found.retain(|line| line.contains(&format!("\t{host}\t")) || line.starts_with("t\t"));
            let of_host = expected.iter().map(|line| line.replace("\tfixture\t", &format!("\t{host}\t")));
            assert_eq!(found, of_host.collect::<Vec<_>>());
        }
        assert_eq!(whole.tally.hosts.iter().collect::<Vec<_>>(), ["db1", "db2"]);
    }

    /// A format of a store.
    fn own() -> Formats {
        let text = "summary = 'queues'\n[recognise]\nbegins = 'queuemon \\d'\n[time]\nformat = 'iso'\n\
            [[line]]\npattern = 'queuemon .*'\n[[line]]\npattern = '(?<time>\\S+Z) (?<n>\\d+) waiting'\n\
            [[line.row]]\ntable = 'metric'\nname = 'queuemon.waiting'\nvalue = '{n}'\n";
        let format = TextFormat::parse("queuemon", "queuemon.toml", text, "").unwrap_or_else(|e| panic!("{e}"));
        Formats::with(vec![Arc::new(format)])
    }

    #[test]
    fn parts_of_hosts_may_be_of_a_format_of_the_store() {
        let part =
            |n: u32| format!("queuemon 1\n2026-11-21T14:00:00Z {n} waiting\n2026-11-21T14:00:10Z {} waiting\n", n + 1);
        let prefix = |host: &str, text: &str| text.lines().map(|line| format!("{host}: {line}\n")).collect::<String>();
        let ansible = |host: &str, text: &str| format!("{host} | CHANGED | rc=0 >>\n{text}");
        for style in [&prefix as &dyn Fn(&str, &str) -> String, &ansible] {
            let text = style("db1", &part(3)) + &style("db2", VMSTAT) + &style("db3", &part(7));
            let formats = own();
            let found = formats.detect(&Head { text: &text }).unwrap();
            assert!(matches!(found, AnyFormat::Hosts(_)), "{found:?}");
            assert_eq!(found.owns().map(|about| about.name).collect::<Vec<_>>(), ["queuemon"]);
            let read = read_any(&found, text.as_bytes(), Hints::none("file"));
            assert_eq!(read.tally.notes, 0, "{}", read.text);
            assert_eq!(rows(&read.text, "metric").iter().filter(|row| row.contains("queuemon.waiting")).count(), 4);
            assert!(rows(&read.text, "metric").iter().any(|row| row.contains("\tdb3\t") && row.ends_with("\t8")));
            // Of vmstat a header and one row: the first line is an average since boot.
            assert_eq!(rows(&read.text, "cpu").len(), 2);
            // Without the store's format those parts are notes.
            assert!(!matches!(Formats::default().detect(&Head { text: &text }), Some(AnyFormat::Hosts(_))));
        }
        // Its own text is not one of several hosts.
        let found = own().detect(&Head { text: &part(1) }).unwrap();
        assert_eq!(found.name(), "queuemon");
        // Names in front of its lines are no hosts when each is another.
        let each: String = part(1).lines().enumerate().map(|(i, line)| format!("line{i}: {line}\n")).collect();
        assert!(own().detect(&Head { text: &each }).is_none());
    }

    #[test]
    fn lines_in_notes_are_those_of_the_whole_text() {
        let text = prefixed("db1") + &prefixed("db2") + "db2: what is this\n";
        let read = read(&FORMAT, text.as_bytes());
        let note = read.text.lines().find(|line| line.contains("what is this")).unwrap();
        assert!(note.contains("\t9\t"), "{note}");
    }

    #[test]
    fn hosts_are_named_in_several_ways() {
        assert_eq!(Style::Prefix.host("db1.x: a b"), Some(("db1.x", "a b")));
        assert_eq!(Style::Prefix.host("db1:"), Some(("db1", "")));
        assert_eq!(Style::Prefix.host("vmstat.txt:a"), None);
        assert_eq!(Style::Compose.host("web-1    |  r  b"), Some(("web-1", " r  b")));
        assert_eq!(Style::Compose.host("web-1    |"), Some(("web-1", "")));
        assert_eq!(Style::Compose.host(" 39   6| 205M"), None);
        assert_eq!(Style::Pod.host("[pod/web-0/app]  r  b"), Some(("web-0", " r  b")));
        assert_eq!(Style::Ansible.host("db1 | CHANGED | rc=0 >>"), Some(("db1", "")));
        assert_eq!(Style::Pssh.host("[1] 08:19:03 [SUCCESS] root@db1:22"), Some(("db1", "")));
        assert_eq!(Style::Pssh.host("[1] x"), None);
    }

    #[test]
    fn names_in_front_of_other_lines_are_no_hosts() {
        let each: String = VMSTAT.lines().enumerate().map(|(i, line)| format!("line{i}: {line}\n")).collect();
        // As pbench stamps what its tools print.
        let at = |i: usize| 1_581_002_778_866 + 1000 * (i as u64 / 2);
        let stamped: String = VMSTAT.lines().enumerate().map(|(i, line)| format!("{}: {line}\n", at(i))).collect();
        for text in ["MemTotal: 5 kB\nMemFree: 3 kB\n", "a: b\na: c\n", &each, VMSTAT, &stamped] {
            assert_eq!((FORMAT.sniff)(&Head { text }), Sure::No, "{text}");
        }
        let text = prefixed("db1");
        assert_eq!(detect(&Head { text: &text }).map(|f| f.name), Some("by-host"));
    }
}
