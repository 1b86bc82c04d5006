//! Stacks of bcc and libbpf-tools that are not folded: `offcputime` and `profile`.
//!
//! A stack is printed from the innermost frame outwards, the kernel's before the program's; then who it was, and the microseconds
//! off the CPU or the samples. The tool's first line has which; without it (libbpf-tools) a stack through the scheduler is time
//! off the CPU, and another is not taken.

use fenxi_model::{Micros, catalog::stack};

use super::report::Reports;
use crate::{Family, Format, Head, Input, Out, Sure, number};

/// Importer for stacks of bcc and libbpf-tools, not folded.
pub static FORMAT: Format = Format {
    name: "bcc-stacks",
    summary: "stacks of bcc and libbpf-tools, not folded: offcputime, profile",
    family: Family::Trace,
    tables: &[&stack::TABLE],
    example: "\
    __schedule
    schedule
    kthread
    -                kcompactd0 (36)
        1535968

",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    let mut lines = head.text.lines().map(str::trim_end).filter(|line| !line.is_empty()).peekable();
    let mut after_frame = false;
    while let Some(line) = lines.next() {
        let value = lines.peek().is_some_and(|next| value(next).is_some());
        if after_frame && value && owner(line).is_some() {
            return Sure::Certain;
        }
        after_frame = line.starts_with("    ") && !line.starts_with("     ");
    }
    Sure::No
}

/// `    -                kcompactd0 (36)`.
fn owner(line: &str) -> Option<(&str, i64)> {
    let rest = line.strip_prefix("    -     ")?.trim();
    let (comm, pid) = rest.rsplit_once(" (")?;
    Some((comm, pid.strip_suffix(')')?.parse().ok()?))
}

/// `        1535968`.
fn value(line: &str) -> Option<f64> {
    let digits = line.strip_prefix("        ")?.trim();
    if digits.bytes().all(|b| b.is_ascii_digit()) { number(digits) } else { None }
}

/// Kind of the values.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Microseconds off the CPU.
    OffCpu,
    /// Samples, so many a second of each CPU.
    Samples(Option<f64>),
}

/// Frames of one stack that are kept.
const MAX_FRAMES: usize = 1 << 10;

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut kind = None;
    let mut t: Option<Micros> = None;
    let mut reports = Reports::default();
    let mut frames: Vec<String> = Vec::new();
    let mut of: Option<(String, i64)> = None;
    input.each_line(|at, line| {
        let bare = line.trim();
        if let Some((comm, pid)) = owner(line) {
            of = Some((comm.trim_start_matches("b'").trim_end_matches('\'').to_owned(), pid));
        } else if let (Some(value), Some((comm, pid))) = (value(line), &of) {
            t = t.or_else(|| reports.next(out, None));
            write(at, (t, kind), (comm, *pid), (&frames, value), out);
            (frames, of) = (Vec::new(), None);
        } else if line.starts_with("    ") && !bare.is_empty() {
            // The mark between the kernel's frames and the program's is none.
            if frames.len() < MAX_FRAMES && bare != "--" {
                let name = bare.strip_prefix("b'").and_then(|name| name.strip_suffix('\'')).unwrap_or(bare);
                frames.push(name.replace(';', ":"));
            }
        } else if bare.starts_with("Tracing off-CPU time (us)") {
            kind = Some(Kind::OffCpu);
        } else if let Some(rest) = bare.strip_prefix("Sampling at ") {
            kind = Some(Kind::Samples(rest.split_once(" Hertz").and_then(|(hertz, _)| number(hertz))));
        } else if !bare.is_empty() && bare != "^C" && !bare.starts_with("WARNING") {
            out.unknown(at, line, "no part of a stack");
        }
    });
    if !frames.is_empty() {
        out.note(None, "the last stack has no value");
    }
}

fn write(
    at: u64,
    (t, kind): (Option<Micros>, Option<Kind>),
    (comm, pid): (&str, i64),
    (frames, value): (&[String], f64),
    out: &mut Out<'_>,
) {
    let scheduler = frames.iter().take(6).any(|frame| {
        let name = frame.split('+').next().unwrap_or("");
        matches!(name, "schedule" | "__schedule" | "finish_task_switch") || name.starts_with("finish_task_switch.")
    });
    let Some(kind) = kind.or(scheduler.then_some(Kind::OffCpu)) else {
        out.unknown(at, comm, "neither samples nor time off the CPU, as no line names which");
        return;
    };
    let outwards: Vec<&str> = frames.iter().rev().map(String::as_str).collect();
    let mut row = out.row(&stack::TABLE, t, None);
    row.str(stack::comm, comm).i64(stack::pid, pid).str(stack::stack, outwards.join(";").as_str());
    match kind {
        Kind::OffCpu => row.str(stack::event, "off-cpu").f64(stack::time_s, value / 1e6),
        Kind::Samples(hertz) => row
            .str(stack::event, "on-cpu")
            .f64(stack::samples, value)
            .f64(stack::time_s, hertz.map(|hertz| value / hertz)),
    };
}

#[cfg(test)]
mod tests {
    use crate::fixtures::read;

    #[test]
    fn samples_of_profile_stand_for_time() {
        let text = "Sampling at 50 Hertz of all threads by user + kernel stack... Hit Ctrl-C to end.\n\n    b'inner'\n    --\n    main\n    -                func ab (13549)\n        5\n";
        let read = read(&super::FORMAT, text.as_bytes());
        assert!(read.text.contains("func ab\t13549\tmain;inner\ton-cpu\t5\t0.1"), "{}", read.text);
        assert_eq!(read.tally.notes, 0);
    }

    #[test]
    fn what_a_value_is_must_be_known() {
        let read = read(&super::FORMAT, b"    inner\n    main\n    -                a (1)\n        5\n");
        assert!(read.tally.notes == 1 && !read.text.contains("# stack"), "{}", read.text);
    }
}
