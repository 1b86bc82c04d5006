//! `util-old-new`: a DTrace script that shows how much of the CPUs is used, as Solaris 8 and 9 would have sampled it and as it
//! is measured, each in thousandths of one CPU.

use fenxi_model::catalog::metric;
use jiff::civil::{Date, Time};

use crate::{Clock, Family, Format, Head, Input, Out, Sure, Ticker, ctime, number};

/// What this file reads.
pub static FORMAT: Format = Format {
    name: "util-old-new",
    summary: "util-old-new: CPU utilization, sampled and measured, of Solaris",
    family: Family::Unix,
    tables: &[&metric::TABLE],
    example: "\
NCPUs = 2
Date-time              s8-tk/1000   s9-tk/1000      ns/1000
2007 Aug 16 12:12:14          508          523          540
2007 Aug 16 12:12:19          520          523          553
",
    sniff,
    read,
};

/// The columns, and how each counted.
const COLUMNS: [(&str, &str); 3] = [
    ("s8-tk/1000", "accounting=sampled-solaris-8"),
    ("s9-tk/1000", "accounting=sampled-solaris-9"),
    ("ns/1000", "accounting=measured"),
];

fn is_header(line: &str) -> bool {
    line.split_ascii_whitespace().eq(["Date-time"].into_iter().chain(COLUMNS.map(|(name, _)| name)))
}

fn sniff(head: &Head<'_>) -> Sure {
    Sure::Certain.when(head.any(is_header))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut clock = Clock::new(out.hints());
    let time = |line: &str| {
        let (_, at, _) = row(line)?;
        Some(f64::from(at.hour()) * 3600.0 + f64::from(at.minute()) * 60.0 + f64::from(at.second()))
    };
    let mut ticker = Ticker::new(out.hints(), &input.head(), time);
    input.each_line(|at, line| {
        let line = line.trim();
        if let Some(cpus) = line.strip_prefix("NCPUs = ") {
            return out.fact("cpu", "cpus", cpus);
        }
        if line.is_empty() || is_header(line) {
            return;
        }
        let Some((date, time, numbers)) = row(line) else {
            return out.unknown(at, line, "no time and three numbers");
        };
        let t = clock.moment(date.to_datetime(time));
        let dt = ticker.tick(t);
        for ((_, labels), thousandths) in COLUMNS.iter().zip(numbers) {
            out.metric(t, dt, "util-old-new.cpus", labels, thousandths / 1000.0, "CPUs");
        }
    });
}

/// `2007 Aug 16 12:12:14   508   523   540`.
fn row(line: &str) -> Option<(Date, Time, [f64; 3])> {
    let at = ctime(line)?;
    let mut words = at.rest.split_ascii_whitespace();
    let mut next = || number(words.next()?);
    let numbers = [next()?, next()?, next()?];
    Some((at.when.date(), at.when.time(), numbers))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::read;

    #[test]
    fn thousandths_of_a_cpu_are_cpus() {
        let read = read(&FORMAT, FORMAT.example.as_bytes());
        for line in [
            "2007-08-16T12:12:14.000000Z\t5\tfixture\tutil-old-new.cpus\taccounting=sampled-solaris-8\t0.508\tCPUs",
            "2007-08-16T12:12:19.000000Z\t5\tfixture\tutil-old-new.cpus\taccounting=measured\t0.553\tCPUs",
        ] {
            assert!(read.text.contains(line), "{}", read.text);
        }
        assert_eq!((read.tally.notes, row("2007 Aug 16 12:12:14 508 523")), (0, None));
    }
}
