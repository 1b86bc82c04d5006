//! `time`: GNU time (`-v`, its usual two lines, `-p`) and the words of shells. Each command that was timed has its results.

use super::names::{self, Name, Results};
use crate::{Family, Format, Head, Input, Out, Sure, number};

/// Importer for GNU time -v, its two lines and -p; time of bash, zsh and other shells.
pub static FORMAT: Format = Format {
    name: "time",
    summary: "GNU time -v, its two lines and -p; time of bash, zsh and other shells",
    family: Family::Load,
    tables: &[],
    example: "\
\tCommand being timed: \"sleep 0.2\"
\tUser time (seconds): 0.00
\tSystem time (seconds): 0.00
\tElapsed (wall clock) time (h:mm:ss or m:ss): 0:00.20
\tMaximum resident set size (kbytes): 1416
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    let long = |line: &str| line.starts_with("Elapsed (wall clock) time (h:mm:ss or m:ss): ") || short(line).is_some();
    if head.any(long) {
        return Sure::Certain;
    }
    // Three lines of shells, one after the other, and nothing else but what the command printed.
    let lines: Vec<&str> = head.lines().take(200).collect();
    let three =
        |w: &[&str]| matches!(w, [r, u, s] if shell(r, "real").and(shell(u, "user")).and(shell(s, "sys")).is_some());
    Sure::Likely.when(lines.len() <= 12 && lines.windows(3).any(three))
}

/// `real\t0m1.234s`, `real 1.23`: seconds.
fn shell(line: &str, name: &str) -> Option<f64> {
    let value = line.strip_prefix(name)?.strip_prefix(['\t', ' '])?.trim();
    match value.strip_suffix('s').and_then(|value| value.split_once('m')) {
        Some((minutes, seconds)) => Some(number(minutes)? * 60.0 + number(seconds)?),
        None => number(value),
    }
}

/// `0.00user 0.05system 0:00.20elapsed 0%CPU (0avgtext+0avgdata 1892maxresident)k`: user, system, elapsed, KiB at most.
fn short(line: &str) -> Option<[Option<f64>; 4]> {
    let mut words = line.split_ascii_whitespace();
    let user = number(words.next()?.strip_suffix("user")?);
    let system = number(words.next()?.strip_suffix("system")?);
    let elapsed = clock(words.next()?.strip_suffix("elapsed")?);
    words.next()?.strip_suffix("%CPU")?;
    let resident = line.split(' ').find_map(|word| number(word.split_once("maxresident)k")?.0));
    Some([user, system, elapsed, resident])
}

/// Seconds of `0:00.20`, `1:02:03`.
fn clock(text: &str) -> Option<f64> {
    text.split(':').try_fold(0.0, |seconds, part| Some(seconds * 60.0 + number(part)?))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut runs = 0u32;
    let mut results = Results::default();
    let mut next = |results: &mut Results| {
        runs = runs.saturating_add(1);
        *results = Results::nth(runs);
    };
    while input.line().is_some() {
        let (at, line) = (input.number(), input.text().trim());
        if let Some(command) = line.strip_prefix("Command being timed: ") {
            next(&mut results);
            out.fact("load", "timed command", command.trim_matches('"'));
        } else if let Some(values) = short(line) {
            next(&mut results);
            let order = [names::USER_MEAN, names::SYSTEM_MEAN, names::ELAPSED, RESIDENT];
            for (name, value) in order.into_iter().zip(values) {
                results.set(out, name, value.map(|v| if name == RESIDENT { v * 1024.0 } else { v }));
            }
        } else if let Some(seconds) = shell(line, "real") {
            next(&mut results);
            results.set(out, names::ELAPSED, seconds);
        } else if let Some(seconds) = shell(line, "user") {
            results.set(out, names::USER_MEAN, seconds);
        } else if let Some(seconds) = shell(line, "sys") {
            results.set(out, names::SYSTEM_MEAN, seconds);
        } else if !line.is_empty() && !figure(line, &mut results, out) && !is_second(line) {
            out.unknown(at, line, "no line of time");
        }
    }
}

/// `0inputs+8outputs (0major+81minor)pagefaults 0swaps`: what follows the first line.
fn is_second(line: &str) -> bool {
    line.contains("inputs+") && line.contains("pagefaults")
}

/// `Voluntary context switches: 2`
fn figure(line: &str, results: &mut Results, out: &mut Out<'_>) -> bool {
    let Some((key, value)) = line.rsplit_once(": ") else { return false };
    if key.starts_with("Elapsed (wall clock) time") {
        results.set(out, names::ELAPSED, clock(value));
        return true;
    }
    match FIGURES.iter().find(|(name, ..)| *name == key) {
        Some((_, name, scale)) => results.set(out, *name, number(value.trim_end_matches('%')).map(|v| v * scale)),
        // Figures that no Linux counts, and those that are not about the run.
        None => {
            return ["Average ", "Swaps", "Signals", "Socket messages", "Page size"].iter().any(|k| key.starts_with(k));
        }
    }
    true
}

/// The most memory that the command had at a time.
const RESIDENT: Name = names::lower("resident_max", "B");
/// Bytes in a block of `File system inputs`.
const BLOCK: f64 = 512.0;

const FIGURES: &[(&str, Name, f64)] = &[
    ("User time (seconds)", names::USER_MEAN, 1.0),
    ("System time (seconds)", names::SYSTEM_MEAN, 1.0),
    ("Percent of CPU this job got", names::neither("cpu", "%"), 1.0),
    ("Maximum resident set size (kbytes)", RESIDENT, 1024.0),
    ("Major (requiring I/O) page faults", names::lower("major_faults", ""), 1.0),
    ("Minor (reclaiming a frame) page faults", names::lower("minor_faults", ""), 1.0),
    ("Voluntary context switches", names::neither("voluntary_switches", ""), 1.0),
    ("Involuntary context switches", names::lower("involuntary_switches", ""), 1.0),
    ("File system inputs", names::neither("read_bytes", "B"), BLOCK),
    ("File system outputs", names::neither("written_bytes", "B"), BLOCK),
    ("Exit status", names::neither("exit_status", ""), 1.0),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_every_form() {
        assert_eq!((clock("0:00.20"), clock("1:02:03"), clock("x")), (Some(0.2), Some(3723.0), None));
        assert_eq!(shell("real\t0m1.234s", "real"), Some(1.234));
        assert_eq!(shell("real 61.50", "real"), Some(61.5));
        assert_eq!((shell("really 5", "real"), shell("user name", "user")), (None, None));
        let line = "0.01user 0.05system 1:00.20elapsed 0%CPU (0avgtext+0avgdata 1892maxresident)k";
        assert_eq!(short(line), Some([Some(0.01), Some(0.05), Some(60.2), Some(1892.0)]));
    }
}
