//! Stacks that DTrace aggregates: `@[stack()] = count()`, also with `ustack()` and names as keys.
//!
//! A stack is printed from the innermost frame outwards, its keys on a line before it, and its count below it. DTrace does
//! not say what it counted: numbers are taken for samples. With `profile-997` each is 1/997 s of a CPU. The fixtures are written
//! by hand.

use fenxi_model::{Micros, catalog::stack};

use super::{
    dtrace::header,
    report::Reports,
    stacks::{Amount, Owner, Stacks, function},
    syscalls::Others,
};
use crate::{Family, Format, Head, Input, Out, Sure, number};

/// Importer for stacks of DTrace aggregations.
pub static FORMAT: Format = Format {
    name: "dtrace-stacks",
    summary: "stacks of DTrace aggregations: stack(), ustack(), jstack()",
    family: Family::Trace,
    tables: &[&stack::TABLE],
    example: "\
  mysqld
              libc.so.1`__pollsys+0x15
              libc.so.1`poll+0x52
              mysqld`main+0x2b
               12
",
    sniff,
    read,
};

/// Frames of one stack that are kept.
const MAX_FRAMES: usize = 1 << 10;
/// Smallest indent of a frame; the keys have a smaller one.
const INDENT: usize = 8;

/// `              libc.so.1`poll+0x52`: a module, a function and where in it.
fn is_located(line: &str) -> bool {
    let text = line.trim();
    let place =
        text.rsplit_once("+0x").is_some_and(|(_, at)| !at.is_empty() && at.bytes().all(|b| b.is_ascii_hexdigit()));
    let module = text.split_once('`').is_some_and(|(module, rest)| {
        !module.is_empty() && !rest.is_empty() && !module.contains([' ', '\'', '"', '$', '('])
    });
    place && module && indent(line) >= INDENT
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// A frame: located, or only an address, or a function of an interpreter. Frames have blanks only in C++ and Java names.
fn frame(line: &str) -> Option<&str> {
    let text = line.trim();
    let address = text.strip_prefix("0x").is_some_and(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()));
    let known = text.contains('`') || address || text.starts_with("[ ") && text.ends_with(" ]");
    (known && indent(line) >= INDENT).then_some(text)
}

/// A count alone on its line.
fn count(line: &str) -> Option<f64> {
    let text = line.trim();
    (indent(line) >= INDENT && text.bytes().all(|b| b.is_ascii_digit())).then(|| number(text))?
}

fn sniff(head: &Head<'_>) -> Sure {
    // Two located frames of a stack, whatever frames it has below, and its count.
    let (mut located, mut own) = (0, false);
    for line in head.text.lines().filter(|line| !line.trim().is_empty()).take(4000) {
        own |= located >= 2 && count(line).is_some();
        located = if frame(line).is_some() { located + usize::from(is_located(line)) } else { 0 };
    }
    Sure::Certain.when(own && !head.any(header))
}

/// Whose stack comes: the line before it.
#[derive(Default)]
struct Keys {
    comm: Option<String>,
    pid: Option<i64>,
    /// They name the stack to come.
    fresh: bool,
}

impl Keys {
    /// `mysqld`, `mysqld  1234`, `1234  mysqld`
    fn of(line: &str) -> Option<Keys> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let pid = |word: &str| word.parse::<i64>().ok();
        let (comm, pid) = match words[..] {
            [one] => (Some(one), None),
            [comm, second] if pid(second).is_some() => (Some(comm), pid(second)),
            [first, comm] if pid(first).is_some() => (Some(comm), pid(first)),
            _ => return None,
        };
        Some(Keys { comm: comm.map(str::to_owned), pid, fresh: true })
    }
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let (mut stacks, mut others, mut reports) = (Stacks::default(), Others::default(), Reports::default());
    let (mut frames, mut keys): (Vec<String>, Keys) = (Vec::new(), Keys::default());
    let (mut event, mut sample_s, mut any): (String, Option<f64>, bool) = ("dtrace".to_owned(), None, false);
    input.each_line(|at, line| {
        if let Some(frame) = frame(line) {
            if frames.len() < MAX_FRAMES {
                frames.push(function(frame).to_owned());
            }
        } else if let Some(count) = count(line) {
            // A stack may have been cut away, as of a process that has ended.
            let owner = Owner { comm: keys.comm.as_deref(), pid: keys.pid, event: &event };
            stacks.add(owner, frames.iter().rev().map(String::as_str), Amount::of(count));
            (frames, keys, any) = (Vec::new(), Keys::default(), true);
        } else if let Some(probe) = described(line) {
            sample_s = period(probe);
            probe.clone_into(&mut event);
        } else if !line.trim().is_empty() && line.trim() != "^C" && !line.starts_with("dtrace: ") {
            match Keys::of(line).filter(|_| frames.is_empty() && !keys.fresh) {
                Some(own) => keys = own,
                None => others.add(at, line.trim()),
            }
        }
    });
    if !frames.is_empty() {
        out.note(None, "a stack without a count at the end");
    }
    if any {
        out.assume("numbers below stacks count samples, as DTrace does not say what it counted");
        let t: Option<Micros> = reports.next(out, None);
        stacks.flush(out, t, None, sample_s);
    }
    others.tell(out);
}

/// `dtrace: description 'profile-997 ' matched 1 probe`
fn described(line: &str) -> Option<&str> {
    let (probe, rest) = line.strip_prefix("dtrace: description '")?.split_once('\'')?;
    rest.trim_start().starts_with("matched").then(|| probe.trim())
}

/// The time of a sample of each CPU.
fn period(probe: &str) -> Option<f64> {
    let rate = probe.rsplit(':').next()?.strip_prefix("profile-")?;
    let hertz: f64 = rate.strip_suffix("hz").unwrap_or(rate).parse().ok()?;
    (hertz >= 1.0).then_some(1.0 / hertz)
}

#[cfg(test)]
mod tests {
    use super::{FORMAT, period};
    use crate::{Head, Sure, fixtures::read};

    #[test]
    fn stacks_are_turned_around_and_weigh_by_the_rate() {
        let path = "fixtures/dtrace-stacks/profile-997.txt";
        let read = read(&FORMAT, &fs_err::read(path).unwrap());
        assert_eq!(read.tally.notes, 0, "{}", read.text);
        assert!(read.text.contains("mysqld`main;libc.so.1`poll;libc.so.1`__pollsys"), "{}", read.text);
        // 12 samples of 1/997 s.
        assert!(read.text.contains("\t12\t0.0120361083"), "{}", read.text);
    }

    #[test]
    fn rates_are_read_from_probes() {
        assert_eq!((period("profile-997"), period("profile:::profile-100hz")), (Some(1.0 / 997.0), Some(0.01)));
        assert_eq!((period("profile-5s"), period("io:::start")), (None, None));
    }

    #[test]
    fn other_texts_with_numbers_are_nobodys() {
        for text in ["        a`b\n        c`d\n        3\n", "x+0x1\ny+0x2\n3\n"] {
            assert_eq!((FORMAT.sniff)(&Head { text }), Sure::No, "{text}");
        }
    }
}
