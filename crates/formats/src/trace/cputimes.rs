//! `cputimes` of the DTraceToolkit: what CPUs spent their time on, by kernel, idle threads and processes, or by process (`-a`).
//!
//! The time above a report is the end of its interval. Times are sums over all CPUs, so that they can be more than the interval.

use fenxi_model::{Micros, catalog::metric};
use jiff::civil::{Date, DateTime};

use crate::{
    Clock, Family, Format, Head, Input, Out, Splitter, Sure, Ticker, civil_time, date::month, generic::labels::Labels,
    number,
};

/// What this file reads.
pub static FORMAT: Format = Format {
    name: "cputimes",
    summary: "cputimes of the DTraceToolkit: CPU time of kernel, idle threads and processes",
    family: Family::Trace,
    tables: &[&metric::TABLE],
    example: "\
2026 Nov 21 14:00:01,
         THREADS        TIME (ns)
          KERNEL         12345678
         PROCESS        987654321
",
    sniff,
    read,
};

/// A time with its comma, and the titles of both columns under it.
fn sniff(head: &Head<'_>) -> Sure {
    let mut before = "";
    Sure::Certain.when(head.lines().any(|line| time(std::mem::replace(&mut before, line)).is_some() && is_header(line)))
}

/// `         THREADS        TIME (ns)`
fn is_header(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    ["THREADS", "TIME", "(ns)"].iter().all(|word| words.next() == Some(word)) && words.next().is_none()
}

/// `2026 Nov 21 14:00:01,`
fn time(line: &str) -> Option<DateTime> {
    let mut words = line.trim().strip_suffix(',')?.split_ascii_whitespace();
    let year: i16 = words.next().filter(|year| year.len() == 4)?.parse().ok()?;
    let month = month(words.next()?)?;
    let day: i8 = words.next()?.parse().ok()?;
    let time = civil_time(words.next()?, None)?;
    let date = Date::new(year, month, day).ok()?;
    words.next().is_none().then(|| date.to_datetime(time))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut clock = Clock::new(out.hints());
    let seconds = |line: &str| {
        let since = time(line)?.duration_since(Date::constant(1970, 1, 1).at(0, 0, 0, 0));
        Some(since.as_secs() as f64)
    };
    let mut ticker = Ticker::new(out.hints(), &input.head(), seconds);
    let mut splitter = Splitter::default();
    let mut now: Option<(Micros, Option<f64>)> = None;
    input.each_line(|at, line| {
        if let Some(when) = time(line) {
            let t = clock.moment(when);
            now = Some((t, ticker.tick(t)));
        } else if !passed_over(line) {
            let fields = splitter.blanks(line);
            // A process may have blanks in its name.
            let value = fields.len().checked_sub(1).filter(|last| *last > 0).and_then(|last| number(fields.get(last)));
            let name =
                line.trim_end().rsplit_once(|c: char| c.is_ascii_whitespace()).map_or("", |(name, _)| name.trim());
            match (now, value) {
                (Some((t, dt)), Some(ns)) if ns >= 0.0 => {
                    out.metric(t, dt, "cputimes.time", Labels::of("threads", name).text(), ns / 1e9, "s");
                }
                (None, Some(_)) => out.unknown(at, line, "no time above it"),
                _ => out.unknown(at, line, "no name and number of nanoseconds"),
            }
        }
    });
}

/// Lines without a figure: titles, and messages while it runs.
fn passed_over(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with("THREADS ") || line.starts_with("Tracing...") || line == "^C"
}

#[cfg(test)]
mod tests {
    use super::FORMAT;
    use crate::{Head, Sure, fixtures::read};

    #[test]
    fn other_lists_of_times_are_nobodys() {
        for text in [
            "2026 Nov 21 14:00:01,\n         SYSCALL        TIME (ns)\n           pread          1234\n",
            "         THREADS        TIME (ns)\n          KERNEL         12345678\n",
            "2026 Nov 21 14:00:01,\n\nTHREADS TIME (ms)\n",
            "2026 Foo 21 14:00:01,\n         THREADS        TIME (ns)\n",
            "",
        ] {
            assert_eq!((FORMAT.sniff)(&Head { text }), Sure::No, "{text}");
        }
        assert_eq!((FORMAT.sniff)(&Head { text: FORMAT.example }), Sure::Certain);
    }

    #[test]
    fn what_is_no_row_becomes_a_note() {
        let text = format!("KERNEL 5\n{}one two three\n", FORMAT.example);
        let read = read(&FORMAT, text.as_bytes());
        assert_eq!(read.tally.notes, 2, "{}", read.text);
        assert_eq!(read.tally.tables, [("metric", 2)]);
    }
}
