//! fio's terse output: `--minimal`, `--output-format=terse`, versions 3 to 5.
//!
//! A line is a job (or a group of jobs): figures of reads, of writes and, from version 4 on, of trims, each with 17 percentiles of
//! the completion latency in microseconds; then CPU, queue depths and disks. Amounts are kibibytes. There are no times of day. Lines
//! of `--status-interval` look like further jobs: where a job of one name comes again with another runtime, the last line counts.

use super::{
    fio::report::{Report, Side},
    names::Results,
};
use crate::{Family, Fields, Format, Head, Input, Out, Splitter, Sure, number};

/// Importer for fio --minimal, --output-format=terse (versions 3 to 5).
pub static FORMAT: Format = Format {
    name: "fio-terse",
    summary: "fio: --minimal, --output-format=terse (versions 3 to 5)",
    family: Family::Load,
    tables: &[&fenxi_model::catalog::load::TABLE, &fenxi_model::catalog::histogram::TABLE],
    example: EXAMPLE,
    sniff,
    read,
};

const EXAMPLE: &str = "3;fio-3.33;a;0;0;89304;44629;11157;2001;0;0;0.0;0.0;31;17851;63.9;158.5;1.000000%=44;5.000000%=46;10.000000%=47;20.000000%=49;30.000000%=50;40.000000%=52;50.000000%=54;60.000000%=56;70.000000%=60;80.000000%=67;90.000000%=77;95.000000%=83;99.000000%=130;99.500000%=175;99.900000%=1875;99.950000%=2867;99.990000%=4554;0%=0;0%=0;0%=0;31;17851;63.9;158.5;29536;53504;97.9%;43706.6;12568.2;0;0;0;0;0;0;0.0;0.0;0;0;0.0;0.0;1.0%=0\n";

/// Columns of a direction before the percentiles: amount, rate, IOPS, runtime, and four each of both latencies.
const BEFORE: usize = 12;
const PERCENTILES: usize = 20;

fn version(fields: &Fields<'_>) -> Option<u32> {
    let version: u32 = fields.get(0).parse().ok()?;
    ((3..=5).contains(&version) && fields.get(1).starts_with("fio-")).then_some(version)
}

fn sniff(head: &Head<'_>) -> Sure {
    let mut splitter = Splitter::default();
    let fields = splitter.at(head.first(), b';');
    Sure::Certain.when(version(&fields).is_some() && fields.len() > BEFORE + PERCENTILES)
}

/// Jobs that are kept for their sums.
const MOST: usize = 1 << 14;

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut report = Report::default();
    let mut splitter = Splitter::default();
    let mut lines: u32 = 0;
    while input.line().is_some() {
        let (line, text) = (input.number(), input.text());
        if text.trim().is_empty() {
            continue;
        }
        let fields = splitter.at(text, b';');
        let Some(sides) = job(&fields).filter(|_| report.sides.len() < MOST) else {
            out.unknown(line, text, "no line of a job");
            continue;
        };
        lines += 1;
        if lines == 1 {
            out.fact("load", "fio", fields.get(1).trim_start_matches("fio-"));
        }
        report.errors += f64::from(u8::from(number(fields.get(4)).is_some_and(|e| e != 0.0)));
        for side in sides {
            replace_earlier(&mut report, &side, line, out);
            report.sides.push(side);
        }
    }
    report.write_results(out, &mut Results::default());
}

/// Drops an earlier line of the same job at another runtime: jobs of one name run equally long.
fn replace_earlier(report: &mut Report, side: &Side, line: u64, out: &mut Out<'_>) {
    let runtime = side.runtime_s.unwrap_or(0.0);
    let before = report.sides.len();
    report.sides.retain(|other| {
        let same = other.job == side.job && other.direction == side.direction;
        !same || (other.runtime_s.unwrap_or(0.0) - runtime).abs() <= 0.2 * runtime
    });
    if report.sides.len() < before {
        out.note(line, "a job of the same name with another runtime: the earlier line was left out");
    }
}

/// Figures of a job in each direction; None when the line is no job's.
fn job(fields: &Fields<'_>) -> Option<Vec<Side>> {
    let version = version(fields)?;
    let width = BEFORE + PERCENTILES + 4 + if version >= 5 { 11 } else { 5 };
    let directions: &[&str] = if version >= 4 { &["read", "write", "trim"] } else { &["read", "write"] };
    if fields.len() < 5 + width * directions.len() {
        return None;
    }
    let mut sides = Vec::new();
    for (i, direction) in directions.iter().enumerate() {
        let part = fields.from(5 + i * width);
        let side = side(&part, fields.get(2), direction)?;
        sides.extend(Some(side).filter(|s| s.bytes != Some(0.0)));
    }
    Some(sides)
}

fn side(fields: &Fields<'_>, job: &str, direction: &str) -> Option<Side> {
    let value = |i: usize| number(fields.get(i));
    let kib = |i: usize| value(i).map(|v| v * 1024.0);
    let ms = |i: usize| value(BEFORE + PERCENTILES + i).map(|us| us / 1e3);
    let mut percentiles = Vec::new();
    for i in 0..PERCENTILES {
        let (percent, us) = fields.get(BEFORE + i).split_once("%=")?;
        let (percent, us) = (number(percent)?, number(us)?);
        if percent > 0.0 {
            percentiles.push((percent, us / 1e3));
        }
    }
    Some(Side {
        job: job.to_owned(),
        direction: direction.to_owned(),
        ios: None,
        iops: Some(value(2)?),
        bytes: Some(kib(0)?),
        bytes_per_s: Some(kib(1)?),
        runtime_s: value(3).map(|ms| ms / 1e3),
        latency: [ms(2), ms(3), ms(0), ms(1)],
        percentiles,
        bins: Vec::new(),
    })
}
