//! Output of JDK 8 with `-XX:+PrintGC`, `-XX:+PrintGCDetails`, and its stamps of date and uptime.

use fenxi_model::Micros;

use super::{Log, Logged, change};
use crate::{Out, generic::labels::Labels, number};

/// Whether only JDK 8 prints it: a collection in brackets with how long it took.
pub(super) fn is_own(line: &str) -> bool {
    let (_, text) = begin(line);
    (text.starts_with("[GC ") || text.starts_with("[Full GC")) && text.contains(" secs]")
        || (text.starts_with("[GC pause (") && text.ends_with(')'))
}

/// Reads collections; those of G1 go over many lines.
#[derive(Debug, Default)]
pub(super) struct Reader {
    t: Option<Micros>,
    /// A pause of G1 whose heap comes on a later line.
    open: bool,
}

/// Cuts `2026-11-23T04:25:46.130+0000: 1.234: ` from a line.
fn begin(line: &str) -> (Option<Logged<'_>>, &str) {
    let (mut when, mut rest) = (None, line);
    for _ in 0..2 {
        let Some((word, behind)) = rest.split_once(": ") else { break };
        if word.len() >= 23 && word.contains('T') && word.starts_with(|c: char| c.is_ascii_digit()) {
            when = Some(Logged::Stamp(word));
        } else if let Some(seconds) = number(word) {
            when = when.or(Some(Logged::Uptime(seconds)));
        } else {
            break;
        }
        rest = behind;
    }
    (when, rest)
}

/// Lines of details that are no separate figures here.
const DETAILS: &[&str] = &[
    "Java HotSpot(TM)",
    "OpenJDK ",
    "Memory: ",
    "CommandLine flags: ",
    "Heap",
    " PSYoungGen",
    " ParOldGen",
    " Metaspace",
    "  class space",
    "  eden",
    "  from",
    "  to ",
    "  object",
    " par new",
    " concurrent mark-sweep",
    " garbage-first",
    "  region",
    " def new",
    " tenured",
    "   the",
];

impl Reader {
    /// Whether the line was one of such a log.
    pub(super) fn line(&mut self, line: &str, log: &mut Log, out: &mut Out<'_>) -> bool {
        let (when, text) = begin(line);
        if let Some(when) = when {
            self.t = log.at(when, out);
        }
        if text.starts_with("[GC") || text.starts_with("[Full GC") {
            self.collection(text, log, out);
            return true;
        }
        if let Some(rest) = text.strip_prefix("[CMS-concurrent-").filter(|rest| rest.contains(": ")) {
            let (phase, times) = rest.split_once(": ").unwrap_or((rest, ""));
            // The CPU time of the phase, then its elapsed time.
            let elapsed = times.split(['/', ' ']).nth(1).and_then(number);
            if let Some(seconds) = elapsed {
                let labels = Labels::of("phase", &format!("CMS-concurrent-{phase}"));
                out.metric(self.t, None, "jvm-gc.concurrent", labels.text(), seconds * 1000.0, "ms");
            }
            return true;
        }
        if let Some(rest) = text.strip_prefix("Total time for which application threads were stopped: ") {
            let mut values =
                rest.split(", Stopping threads took: ").map(|part| number(part.trim_end_matches(" seconds")));
            for name in ["jvm-gc.safepoint", "jvm-gc.safepoint_reaching"] {
                if let Some(Some(seconds)) = values.next() {
                    out.metric(self.t, None, name, "", seconds * 1000.0, "ms");
                }
            }
            return true;
        }
        if let Some(times) = text.trim_start().strip_prefix("[Times: ") {
            cpu(self.t, times.trim_end_matches([']', ' ']), out);
            self.open = false;
            return true;
        }
        if self.open && text.starts_with(' ') {
            self.detail(text.trim(), out);
            return true;
        }
        text.starts_with("[CMS")
            || text.starts_with("Application time: ")
            || DETAILS.iter().any(|detail| line.starts_with(detail))
    }

    /// `[GC (Allocation Failure) [PSYoungGen: 33280K->5118K(38400K)] 33280K->9000K(125952K), 0.0056 secs] [Times: …]`.
    fn collection(&mut self, text: &str, log: &mut Log, out: &mut Out<'_>) {
        let (text, times) = text.split_once(" [Times: ").unwrap_or((text, ""));
        let seconds = text.strip_suffix(" secs]").and_then(|rest| number(rest.rsplit_once(' ')?.1));
        let name = if text.starts_with("[Full GC") { "Full GC" } else { "GC" };
        let inner = text.trim_start_matches("[Full GC").trim_start_matches("[GC").trim_start();
        let (kind, cause) = cause(inner);
        let what = if kind.is_empty() { name.to_owned() } else { format!("{name} {kind}") };
        if let Some(phase) = kind.strip_prefix("concurrent-") {
            if let Some(seconds) = seconds {
                let labels = Labels::of("phase", phase.trim_end_matches("-end"));
                out.metric(self.t, None, "jvm-gc.concurrent", labels.text(), seconds * 1000.0, "ms");
            }
            return;
        }
        self.spaces(text, out);
        match seconds {
            Some(seconds) => log.pause(self.t, &what, cause, seconds * 1000.0, out),
            // G1 begins concurrent phases with lines without a time; `[GC concurrent-mark-end, 0.05 secs]` has one.
            None => self.open = text.contains("pause"),
        }
        self.open |= text.starts_with("[GC pause");
        cpu(self.t, times.trim_end_matches([']', ' ']), out);
    }

    /// Changes of spaces in brackets with their names, and of the heap outside of them.
    fn spaces(&self, text: &str, out: &mut Out<'_>) {
        let mut space: Vec<&str> = Vec::new();
        for word in text.split_inclusive([' ', ',']) {
            let bare = word.trim_matches([' ', ',']);
            if let Some(name) = bare.strip_prefix('[').and_then(|name| name.strip_suffix(':')) {
                space.push(name);
            }
            let closes = bare.matches(']').count();
            if let Some(change) = change(bare.trim_end_matches(']')) {
                Log::heap(self.t, space.last().copied().unwrap_or("heap"), change, out);
            }
            for _ in 0..closes {
                space.pop();
            }
        }
    }

    /// `[Eden: 24.0M(24.0M)->0.0B(13.0M) Survivors: 0.0B->3072.0K Heap: 24.0M(256.0M)->4000.0K(256.0M)]`.
    fn detail(&self, text: &str, out: &mut Out<'_>) {
        if text.starts_with("[Eden: ") {
            let mut words = text.trim_matches(['[', ']']).split_ascii_whitespace();
            while let (Some(space), Some(word)) = (words.next(), words.next()) {
                if let Some(change) = change(word) {
                    let space = space.trim_end_matches(':');
                    Log::heap(self.t, if space == "Heap" { "heap" } else { space }, change, out);
                }
            }
        }
    }
}

/// `(Allocation Failure) …`, `pause (G1 Evacuation Pause) (young), …`, `remark 1.521: …`: the kind, `pause (young)`, and the cause.
fn cause(inner: &str) -> (String, &str) {
    let end = inner.find(|c: char| matches!(c, ',' | '[' | ']' | '(') || c.is_ascii_digit()).unwrap_or(inner.len());
    let (kind, mut rest) = inner.split_at(end);
    let mut kind = kind.trim_end().to_owned();
    let mut cause = "";
    while let Some((group, behind)) = bracketed(rest) {
        if cause.is_empty() {
            cause = group;
        } else {
            kind.push_str(&format!(" ({group})"));
        }
        rest = behind.strip_prefix(' ').unwrap_or("");
    }
    (kind, cause)
}

/// The content of the brackets with which `text` begins, and what is behind them; there may be more inside: `(System.gc())`.
fn bracketed(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_prefix('(')?;
    let mut depth = 1;
    for (at, c) in inner.char_indices() {
        depth += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        if depth == 0 {
            return Some((inner.get(..at)?, inner.get(at + 1..)?));
        }
    }
    None
}

/// `user=0.01 sys=0.00, real=0.01 secs`.
fn cpu(t: Option<Micros>, text: &str, out: &mut Out<'_>) {
    for word in text.split([' ', ',']) {
        if let Some((name, value)) = word.split_once('=')
            && let Some(seconds) = number(value)
        {
            out.metric(t, None, &format!("jvm-gc.cpu_{name}"), "", seconds, "s");
        }
    }
}
