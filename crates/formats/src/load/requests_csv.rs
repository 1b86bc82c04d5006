//! Requests one by one, as `hey -o csv` and `ab -g` write them, and the percentiles of `ab -e`. Each row becomes a transaction of
//! its second, or a part of the distribution: none of them is a sample at a time.

use fenxi_model::{
    Micros,
    catalog::{histogram, load},
};

use super::{
    names::{self, Results},
    seconds::{Event, Kinds, Seconds},
    spread::Spread,
};
use crate::{Family, Format, Head, Input, Out, Sure, number};

/// Importer for hey -o csv, ab -g and ab -e.
pub static FORMAT: Format = Format {
    name: "requests-csv",
    summary: "hey -o csv, ab -g and ab -e: individual requests, percentiles",
    family: Family::Load,
    tables: &[&load::TABLE, &histogram::TABLE],
    example: "\
response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset
0.0018,0.0003,0.0000,0.0001,0.0012,0.0001,200,0.0002
",
    sniff,
    read,
};

const HEY: &str = "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset";
const AB_EACH: &str = "starttime\tseconds\tctime\tdtime\tttime\twait";
const AB_PERCENTILES: &str = "Percentage served,Time in ms";

fn sniff(head: &Head<'_>) -> Sure {
    Sure::Certain.when([HEY, AB_EACH, AB_PERCENTILES].contains(&head.first()))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    match input.head().trim_start().lines().next().map(str::trim) {
        Some(HEY) => hey(input, out),
        Some(AB_EACH) => ab_each(input, out),
        _ => ab_percentiles(input, out),
    }
}

/// Hands on each row that has `columns` cells; others are noted.
fn rows(
    input: &mut Input<'_>,
    out: &mut Out<'_>,
    separator: char,
    columns: usize,
    mut on: impl FnMut(&[&str], &mut Out<'_>) -> Option<()>,
) {
    while input.line().is_some() {
        let (at, line) = (input.number(), input.text().trim());
        let cells: Vec<&str> = line.split(separator).collect();
        if line.is_empty() || [HEY, AB_EACH, AB_PERCENTILES].contains(&line) {
            continue;
        }
        if cells.len() != columns || on(&cells, out).is_none() {
            out.unknown(at, line, &format!("no row of {columns} columns"));
        }
    }
}

/// hey counts microseconds from its start.
fn hey(input: &mut Input<'_>, out: &mut Out<'_>) {
    let (mut spread, mut end, mut errors) = (Spread::default(), 0f64, 0u64);
    rows(input, out, ',', 8, |cells, _| {
        let (took, status, offset) = (number(cells[0])?, number(cells[6])?, number(cells[7])?);
        spread.add((took.max(0.0) * 1e6).round() as u64);
        errors += u64::from(status >= 400.0);
        end = end.max(offset + took);
        Some(())
    });
    let mut results = Results::default();
    spread.write_results(out, &mut results, "", 1e-3);
    results.set(out, names::TRANSACTIONS, spread.count() as f64);
    results.set(out, names::ERRORS, errors as f64);
    results.set(out, names::ELAPSED, (end > 0.0).then_some(end));
    results.set(out, names::THROUGHPUT, (end > 0.0).then(|| spread.count() as f64 / end));
    spread.write_buckets(out, "", 1e-3);
}

/// ab has the second in which a request began, and whole milliseconds.
fn ab_each(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut seconds = Seconds::new("ab", 1.0, Kinds { errors: false, retries: false });
    let mut spread = Spread::default();
    rows(input, out, '\t', 6, |cells, out| {
        let begin: i64 = cells[1].parse().ok().filter(|s| (100_000_000..100_000_000_000).contains(s))?;
        let ms: u64 = cells[4].parse().ok()?;
        let end = Micros(begin * 1_000_000 + i64::try_from(ms.min(1 << 40)).ok()? * 1000);
        seconds.add(out, None, &Event::done(end, ms));
        spread.add(ms);
        Some(())
    });
    // Seconds are too coarse for how long all took.
    seconds.finish_without_results(out);
    let mut results = Results::default();
    results.set(out, names::TRANSACTIONS, spread.count() as f64);
    spread.write_results(out, &mut results, "", 1.0);
}

fn ab_percentiles(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut results = Results::default();
    rows(input, out, ',', 2, |cells, out| {
        let (percent, ms) = (number(cells[0])?, number(cells[1])?);
        results.percentile(out, percent, "", ms);
        Some(())
    });
}
