//! `perf script`: samples with their stacks, as text with any choice of fields (`-F`).
//!
//! Equal stacks are added up while they are read. A sample of a clock represents the time of its
//! period; one of cycles that of the sampling frequency, which only `--header` has. Where
//! the periods of an event differ, its samples are weighed by them, as `perf report` does. The
//! default output names the thread, not the process: samples of equal programs are then added up.

use fenxi_model::{Micros, catalog::stack};

use super::{
    report::Reports,
    stacks::{Amount, Owner, Stacks, function},
};
use crate::{Clock, Family, Format, Head, Input, Out, Sure, ctime, number};

/// Importer for perf script, with and without stacks, any -F.
pub static FORMAT: Format = Format {
    name: "perf-script",
    summary: "perf script, with and without stacks, any -F",
    family: Family::Trace,
    tables: &[&stack::TABLE],
    example: "\
busy 10021 [001] 14270.268935:   10101010 cpu-clock:ppp:
\t            117f inner+0x36 (/usr/bin/busy)
\t            1226 main+0x2d (/usr/bin/busy)

",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    let mut lines = head.text.lines().filter(|l| !l.starts_with('#') && !l.trim().is_empty()).take(200).peekable();
    let (mut frames, mut others) = (0, 0);
    let mut after_frame = false;
    while let Some(line) = lines.next() {
        let before_frame = lines.peek().is_some_and(|next| is_printed_frame(next) || is_bare_frame(next));
        if is_record(line) {
            return Sure::Certain;
        }
        let is_frame = is_printed_frame(line);
        if is_frame {
            frames += 1;
        } else if let Some(sample) = sample(line).filter(|s| s.time.is_some() && (s.inline.is_some() || before_frame)) {
            if is_event(sample.event) {
                return Sure::Certain;
            }
        } else {
            // The last line may be cut.
            let is_known = before_frame || (after_frame && is_source_line(line)) || lines.peek().is_none();
            others += usize::from(!is_known);
        }
        after_frame = is_frame;
    }
    // With fewer fields only the place of the frames' addresses shows it, and that there is nothing else.
    Sure::Likely.when(frames > 1 && others == 0)
}

/// Whether a line records tasks and their memory: `PERF_RECORD_MMAP2 1/1: …` behind thread and time.
fn is_record(line: &str) -> bool {
    line.split_once(": PERF_RECORD_").is_some_and(|(before, rest)| {
        rest.starts_with(|c: char| c.is_ascii_uppercase()) && !before.trim_start().starts_with(['#', '/', '*', '"'])
    })
}

/// Whether a word can be an event's name: `cycles:ppp`, `sched:sched_switch`, `cpu/event=0x3c/`.
fn is_event(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-:/=.,@".contains(&b))
}

/// A line of a stack as perf prints it: a tab, an address at the right of 16 columns, a blank and what is there. The tab may
/// have become blanks.
fn is_printed_frame(line: &str) -> bool {
    let Some(rest) = line.strip_prefix('\t').or_else(|| line.strip_prefix("        ")) else { return false };
    let (Some(address), Some(name)) = (rest.get(..16), rest.get(16..)) else { return false };
    let digits = address.trim_start_matches(' ');
    !digits.is_empty()
        && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        && name.starts_with(' ')
        && !name.trim().is_empty()
}

/// The fields of a sample's own line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sample<'a> {
    comm: &'a str,
    pid: Option<i64>,
    time: Option<f64>,
    period: Option<f64>,
    event: &'a str,
    /// The only frame, on the line itself, of samples without stacks.
    inline: Option<&'a str>,
}

/// Reads `comm [pid/]tid [cpu] time: [period] event: [frame]`, of which any part may be missing.
fn sample(line: &str) -> Option<Sample<'_>> {
    let mut sample = Sample::default();
    let Some((before, time, after)) = split_time(line) else {
        return untimed(line);
    };
    sample.time = Some(time);
    (sample.comm, sample.pid) = thread(before);
    let mut after = after.trim_start();
    let (first, rest) = after.split_once(' ').unwrap_or((after, ""));
    if let Some(period) = whole(first) {
        sample.period = Some(period);
        after = rest.trim_start();
    }
    let (event, rest) = after.split_once(' ').unwrap_or((after, ""));
    if let Some(event) = event.strip_suffix(':') {
        sample.event = event;
        after = rest.trim();
    }
    sample.inline = Some(after.trim()).filter(|frame| looks_like_frame(frame));
    Some(sample)
}

/// Finds the time, a word like `14270.268935:`; gives the text before and behind.
fn split_time(line: &str) -> Option<(&str, f64, &str)> {
    let mut from = 0;
    while let Some(at) = line.get(from..)?.find(": ").or_else(|| line.get(from..)?.strip_suffix(':').map(str::len)) {
        let end = from + at;
        let head = line.get(..end)?;
        let begin = head.rfind(' ').map_or(0, |i| i + 1);
        let word = head.get(begin..)?;
        let decimals = word.split_once('.').map_or(0, |(_, d)| d.len());
        if decimals >= 3 && word.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
            return Some((line.get(..begin)?, number(word)?, line.get(end + 1..)?));
        }
        from = end + 1;
    }
    None
}

/// A sample's line without a time: `comm`, `comm tid`, `comm event:`.
fn untimed(line: &str) -> Option<Sample<'_>> {
    let line = line.trim();
    let mut sample = Sample::default();
    let mut before = line;
    if let Some(line) = line.strip_suffix(':') {
        let at = line.rfind(' ').map_or(0, |i| i + 1);
        sample.event = line.get(at..)?;
        before = line.get(..at)?.trim_end();
        // A thread and a period may precede it.
        let mut words = before.rsplit(' ');
        if let (Some(period), Some(tid)) = (words.next(), words.find(|w| !w.is_empty()))
            && whole(period).is_some()
            && tid.bytes().all(|b| b.is_ascii_digit())
        {
            sample.period = whole(period);
            before = before.strip_suffix(period)?.trim_end();
        }
    }
    (sample.comm, sample.pid) = thread(before);
    (!line.is_empty()).then_some(sample)
}

/// The program and the process in `comm pid/tid [cpu]`; a program's name may have blanks in it.
fn thread(text: &str) -> (&str, Option<i64>) {
    let mut text = text.trim();
    let (head, last) = text.rsplit_once(' ').unwrap_or(("", text));
    let cpu = last.strip_prefix('[').and_then(|l| l.strip_suffix(']'));
    if cpu.is_some_and(|cpu| cpu.bytes().all(|b| b.is_ascii_digit())) {
        text = head.trim_end();
    }
    // The mode that `misc` shows: user, kernel, guest.
    if let Some((head, mode)) = text.rsplit_once(' ')
        && mode.bytes().all(|b| b"UKHG".contains(&b))
        && head.trim_end().ends_with(|c: char| c.is_ascii_digit())
    {
        text = head.trim_end();
    }
    let (comm, last) = text.rsplit_once(' ').unwrap_or(("", text));
    let digits = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit());
    match last.split_once('/') {
        Some((pid, tid)) if digits(pid) && digits(tid) => (comm.trim_end(), pid.parse().ok()),
        None if digits(last) || last == "-1" => (comm.trim_end(), None),
        _ => (text, None),
    }
}

fn whole(word: &str) -> Option<f64> {
    let digits = !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
    if digits { number(word) } else { None }
}

fn is_address(word: &str) -> bool {
    let hex = word.len() >= 3 && word.bytes().all(|b| b.is_ascii_hexdigit());
    word == "0" || hex && (word.len() >= 8 || word.bytes().any(|b| b.is_ascii_digit()))
}

fn looks_like_frame(text: &str) -> bool {
    text.split_once(' ').is_some_and(|(address, _)| is_address(address))
}

/// A line of a stack begins with a tab; where tabs became blanks, with many and an address.
fn is_frame(line: &str) -> bool {
    if line.starts_with('\t') {
        return line.trim().len() > 1;
    }
    line.starts_with("        ") && split_time(line).is_none() && looks_like_frame(line.trim())
}

/// A line of a stack whose indentation was taken off: an address, a function and its offset or file.
fn is_bare_frame(line: &str) -> bool {
    let Some((address, rest)) = line.split_once(' ').filter(|_| split_time(line).is_none()) else { return false };
    let rest = rest.trim();
    let file = rest.ends_with(')') && rest.rsplit_once(" (").is_some_and(|(_, file)| file.starts_with(['/', '[']));
    is_address(address) && (file || function(rest) != rest)
}

/// Whether a frame is at address 0: where a walk along frame pointers ended that led nowhere. It is no function.
fn is_end_of_walk(line: &str) -> bool {
    line.trim().strip_prefix("0 ").is_some_and(|rest| rest.trim_start().starts_with("[unknown]"))
}

/// Whether the brackets at a frame's end have its file, rather than the parameters of a function.
fn is_file(name: &str, text: &str) -> bool {
    let known = text.starts_with(['/', '[']) || text == "inlined" || function(name) != name;
    known || (text.contains('.') && !text.contains([' ', ',', ':', '*', '&']))
}

/// The name of a frame `117f inner+0x36 (/usr/bin/busy)`; that of its file where it has none.
fn frame_name(line: &str) -> &str {
    let line = line.trim();
    let rest = match line.split_once(' ') {
        Some((address, rest)) if is_address(address) => rest.trim_start(),
        _ => line,
    };
    let deleted = rest.strip_suffix(" (deleted))");
    let bare = deleted.or_else(|| rest.strip_suffix(')'));
    let (name, file) = match bare.and_then(|bare| bare.rsplit_once('(')) {
        Some((name, file)) if (name.is_empty() || name.ends_with(' ')) && is_file(name.trim_end(), file) => {
            (name.trim_end(), file)
        }
        _ => (rest, ""),
    };
    if matches!(name, "" | "[unknown]") {
        let file = file.rsplit('/').next().unwrap_or("");
        return if file.is_empty() || file == "[unknown]" { "[unknown]" } else { file };
    }
    function(name)
}

/// The event without its modifiers: `cpu-clock:ppp` is `cpu-clock`.
fn event_name(event: &str) -> &str {
    match event.rsplit_once(':') {
        Some((name, modifiers)) if !name.is_empty() && modifiers.bytes().all(|b| b"ukhpPGHSDIWeb".contains(&b)) => name,
        _ => event,
    }
}

/// Samples of what a CPU does, rather than of something that happens.
fn on_cpu(event: &str) -> bool {
    is_clock(event) || matches!(event, "cycles" | "cpu-cycles" | "ref-cycles") || event.ends_with("/cpu-cycles/")
}

fn is_clock(event: &str) -> bool {
    matches!(event, "cpu-clock" | "task-clock")
}

/// The deepest stack that is kept, from the innermost frame.
const MAX_FRAMES: usize = 4096;

#[derive(Default)]
struct Reader {
    stacks: Stacks,
    /// The sample whose frames come, and they, from the innermost.
    comm: String,
    pid: Option<i64>,
    event: String,
    time_s: Option<f64>,
    /// Its period, unless `time_s` is that already.
    period: Option<f64>,
    frames: Vec<String>,
    n_frames: usize,
    open: bool,
    first: Option<f64>,
    last: Option<f64>,
    /// Samples a second of each event, from the header.
    frequencies: Vec<(String, f64)>,
    captured: Option<Micros>,
    reports: Reports,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader::default();
    input.each_line(|number, line| reader.line(number, line, out));
    reader.end_of_sample();
    reader.flush(out);
}

impl Reader {
    fn line(&mut self, at: u64, line: &str, out: &mut Out<'_>) {
        if line.trim().is_empty() {
            self.end_of_sample();
        } else if line.starts_with('#') {
            self.header(line, out);
        } else if is_frame(line) || (self.open && is_bare_frame(line)) {
            self.open = true;
            if !is_end_of_walk(line) {
                self.frame(frame_name(line));
            }
        } else if (self.open && is_source_line(line)) || line.contains(": PERF_RECORD_") {
            // The place in the source of the frame before (`srcline`), or what happened to tasks and
            // their memory, which no sample is.
        } else if let Some(sample) = sample(line) {
            self.end_of_sample();
            self.begin(&sample);
            if self.stacks.is_full() {
                self.flush(out);
            }
        } else {
            out.unknown(at, line, "no sample of perf script");
        }
    }

    /// `# hostname : db1` and what else `--header` prints.
    fn header(&mut self, line: &str, out: &mut Out<'_>) {
        let Some((name, value)) = line.trim_start_matches(['#', ' ']).split_once(':') else { return };
        let value = value.trim();
        match name.trim() {
            "hostname" => out.set_host(value),
            "captured on" => {
                self.captured = ctime(value).map(|when| Clock::new(out.hints()).moment(when.when));
            }
            "event" => {
                let field =
                    |key: &str| value.split_once(key).map(|(_, rest)| rest.split(',').next().unwrap_or("").trim());
                let (name, rate) = (field("name = "), field("sample_freq } = ").and_then(number));
                if let (Some(name), Some(rate), true) = (name, rate, value.contains(" freq = 1")) {
                    self.frequencies.truncate(1000);
                    self.frequencies.push((event_name(name).to_owned(), rate));
                }
            }
            _ => {}
        }
    }

    fn begin(&mut self, sample: &Sample<'_>) {
        self.open = true;
        sample.comm.clone_into(&mut self.comm);
        self.pid = sample.pid;
        let event = event_name(sample.event);
        self.time_s = match sample.period {
            // The periods of clocks are nanoseconds.
            Some(period) if is_clock(event) => Some(period / 1e9),
            _ if on_cpu(event) => {
                self.frequencies.iter().find(|(name, rate)| name == event && *rate > 0.0).map(|(_, rate)| 1.0 / rate)
            }
            _ => None,
        };
        self.period = sample.period.filter(|_| !is_clock(event));
        self.event.clear();
        self.event.push_str(if on_cpu(event) { "on-cpu" } else { event });
        if let Some(time) = sample.time {
            self.first = Some(self.first.map_or(time, |first| first.min(time)));
            self.last = Some(self.last.map_or(time, |last| last.max(time)));
        }
        if let Some(frame) = sample.inline.filter(|frame| !is_end_of_walk(frame)) {
            self.frame(frame_name(frame));
        }
    }

    fn frame(&mut self, name: &str) {
        if self.n_frames >= MAX_FRAMES {
            return;
        }
        match self.frames.get_mut(self.n_frames) {
            Some(frame) => name.clone_into(frame),
            None => self.frames.push(name.to_owned()),
        }
        self.n_frames += 1;
    }

    fn end_of_sample(&mut self) {
        if !std::mem::take(&mut self.open) {
            return;
        }
        let comm = Some(self.comm.as_str()).filter(|c| !c.is_empty());
        let frames = self.frames.iter().take(self.n_frames).rev().map(String::as_str);
        let amount = Amount { samples: 1.0, time_s: self.time_s, period: self.period };
        self.stacks.add(Owner { comm, pid: self.pid, event: &self.event }, frames, amount);
        self.n_frames = 0;
        self.comm.clear();
        self.event.clear();
        (self.pid, self.time_s, self.period) = (None, None, None);
    }

    fn flush(&mut self, out: &mut Out<'_>) {
        if self.stacks.is_empty() {
            return;
        }
        let dt = self.first.zip(self.last).map(|(first, last)| last - first).filter(|dt| *dt > 0.0);
        let t = self.captured.or_else(|| self.reports.next(out, dt));
        self.stacks.flush(out, t, dt, None);
    }
}

/// `  b.c:6`, under a frame.
fn is_source_line(line: &str) -> bool {
    let number = line.trim().rsplit_once(':').map(|(_, number)| number);
    line.starts_with("  ")
        && number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit() || b == b'?'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_read_with_any_fields() {
        let base = Sample { comm: "my prog", time: Some(14270.268935), event: "cycles:P", ..Sample::default() };
        for (line, expected) in [
            ("my prog 10021 [001] 14270.268935:   10101 cycles:P: ", Sample { period: Some(10101.0), ..base }),
            ("my prog   12/34   14270.268935: cycles:P:", Sample { pid: Some(12), ..base }),
            ("my prog 14270.268935: cycles:P:", base),
            ("my prog 5 cycles:P:", Sample { time: None, ..base }),
            ("my prog 5 77 cycles:P:", Sample { time: None, period: Some(77.0), ..base }),
            ("my prog 5 U     14270.268935: cycles:P:", base),
            ("12/34", Sample { comm: "", pid: Some(12), time: None, event: "", ..base }),
            ("my prog", Sample { time: None, event: "", ..base }),
            (
                "  my prog 5 [000] 14270.268935: 1 cycles:P:  7f75ae947404 [unknown] (/a b/c)",
                Sample { period: Some(1.0), inline: Some("7f75ae947404 [unknown] (/a b/c)"), ..base },
            ),
            (
                "my prog 5 [000] 14270.268935: sched:sched_switch: prev_comm=a ==> next_comm=b",
                Sample { event: "sched:sched_switch", ..base },
            ),
        ] {
            assert_eq!(sample(line), Some(expected), "{line}");
        }
    }

    #[test]
    fn a_frame_is_its_function_or_its_file() {
        for (line, name) in [
            ("\t  11cb outer+0x3a (/tmp/busy two)", "outer"),
            ("\t  11cb inlined (inlined)", "inlined"),
            ("\t  7f75ae947404 [unknown] (/usr/lib/libx.so (deleted))", "libx.so"),
            ("\t  7f75ae947404 [unknown] ([unknown])", "[unknown]"),
            ("\tffffffff81a [unknown] ([kernel.kallsyms])", "[kernel.kallsyms]"),
            ("\t  4cbb44 <Cow<B> as Deref>::deref+0x4 (/x/y)", "<Cow<B> as Deref>::deref"),
            ("\t  4cbb44 f(int, char)+0x4 (/x/y)", "f(int, char)"),
            ("\tmain", "main"),
            ("\t  4cbb44 f(int, char (*)(int, long))+0x4 (/x/y)", "f(int, char (*)(int, long))"),
            ("\t  4cbb44 f(int, char (*) (int, long))", "f(int, char (*) (int, long))"),
            ("\tvoid (anonymous namespace)::g<int> (int, char)", "void (anonymous namespace)::g<int> (int, char)"),
            ("\t  4cbb44 operator new(unsigned long) (/x/y)", "operator new(unsigned long)"),
            ("\t  4cbb44 h+0x4 (vmlinux)", "h"),
            ("\t 1226 main", "main"),
        ] {
            assert_eq!(frame_name(line), name, "{line}");
        }
    }

    /// The rows of `stack` without their times.
    fn stacks_of(text: &str) -> Vec<(String, String)> {
        let read = crate::fixtures::read(&FORMAT, text.as_bytes()).text;
        let rows = read.lines().skip(1).take_while(|line| !line.starts_with('#'));
        let cells: Vec<Vec<&str>> = rows.map(|row| row.split('\t').collect()).collect();
        let place = |name: &str| cells[0].iter().position(|c| *c == name).unwrap();
        let (stack, samples) = (place("stack"), place("samples"));
        cells[1..].iter().map(|row| (row[stack].to_owned(), row[samples].to_owned())).collect()
    }

    fn pair(stack: &str, samples: &str) -> (String, String) {
        (stack.to_owned(), samples.to_owned())
    }

    #[test]
    fn frames_at_address_0_and_frames_without_indentation_are_of_the_stack_above() {
        let blanks = "busy 1 [000] 5.000001:  1 cycles: \n                11cb f+0x1 (/b)\n                   0 [unknown] ([unknown])\n\n";
        let tabs = "busy 1 [000] 5.000002:  1 cycles: \n\t            11cb f+0x1 (/b)\n\n";
        let bare = "busy 1 [000] 5.000003:  1 cycles: \n11cb f+0x1 (/b)\n1226 g(int, char)+0x2 (/b)\n\n";
        let text = [blanks, tabs, bare].concat();
        assert_eq!(stacks_of(&text), [pair("f", "2"), pair("g(int, char);f", "1")]);
        assert_eq!(sniff(&Head { text: bare }), Sure::Certain);
    }

    #[test]
    fn samples_weigh_as_much_as_their_periods() {
        let sample = |period: u32, name: &str| {
            format!("b 1 [000] 5.000001: {period} cycles: \n\t            11cb {name}+0x1 (/b)\n\n")
        };
        let text = [sample(1, "start"), sample(300, "f"), sample(99, "g"), sample(200, "f")].concat();
        // 4 samples of 600 cycles.
        let want = [pair("start", "0.00666666666667"), pair("f", "3.33333333333"), pair("g", "0.66")];
        assert_eq!(stacks_of(&text), want);
        let text = [sample(7, "f"), sample(7, "g"), sample(7, "f")].concat();
        assert_eq!(stacks_of(&text), [pair("f", "2"), pair("g", "1")]);
    }
}
