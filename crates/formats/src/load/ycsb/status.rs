//! The status lines that `-s` prints, with the operations since the last one in one of three forms.

use fenxi_model::{Micros, catalog::load};
use jiff::civil::DateTime;

use crate::{Out, civil_date, civil_time, load::names::percentile_column, number};

/// `2026-11-21 08:46:48:493 1 sec: 12972 operations; 12130 current ops/sec; est completion in 4 second [READ: ...]`
#[derive(Debug)]
pub struct Status<'a> {
    /// When, since 0.2.
    pub when: Option<DateTime>,
    /// Whole seconds since the begin.
    pub seconds: f64,
    /// Operations since the begin.
    pub operations: f64,
    /// None at the first one: infinite.
    rate: Option<f64>,
    details: &'a str,
}

impl<'a> Status<'a> {
    /// Reads a line; None when it is no status.
    pub fn read(line: &'a str) -> Option<Status<'a>> {
        let (front, rest) = line.split_once(" sec: ")?;
        let (operations, rest) = rest.split_once(" operations; ")?;
        let mut words = front.split_ascii_whitespace().rev();
        let seconds = number(words.next()?).filter(|s| (0.0..1e9).contains(s))?;
        // Milliseconds follow a colon: `08:46:48:493`.
        let when = words.next().zip(words.next()).and_then(|(time, date)| {
            let (time, millis) = time.rsplit_once(':')?;
            Some(civil_date(date)?.to_datetime(civil_time(&format!("{time}.{millis}"), None)?))
        });
        let (rate, rest) = rest.split_once(" current ops/sec;").unwrap_or(("", rest));
        let details = rest.split_once("est completion in").map_or(rest, |(_, rest)| {
            let rest = rest.trim_start();
            rest.find(['[', ']']).map_or_else(|| after_second(rest), |at| &rest[at..])
        });
        Some(Status { when, seconds, operations: number(operations)?, rate: number(rate), details })
    }

    /// Writes a row for all operations and one for each kind.
    pub fn write(&self, t: Micros, dt: Option<f64>, out: &mut Out<'_>) {
        let mut row = out.row(&load::TABLE, t, dt);
        row.str(load::generator, "ycsb").f64(load::transactions_per_s, self.rate);
        for part in self.details.split('[').skip(1) {
            let part = part.split(']').next().unwrap_or(part);
            match part.split_once(": ") {
                Some((operation, values)) => quantiles(operation, values, t, dt, out),
                None => mean(part, t, dt, out),
            }
        }
        counts(self.details, t, dt, out);
    }
}

/// The text after `4 second` or `1 minute 4 seconds`.
fn after_second(text: &str) -> &str {
    let end = text.rfind("second").or_else(|| text.rfind("minute")).and_then(|at| Some(at + text[at..].find(' ')?));
    end.map_or("", |end| &text[end..])
}

/// `READ: Count=8418, Max=7723, Min=0, Avg=561.59, 90=1130, 99=1344, 99.9=3613, 99.99=7411`
fn quantiles(operation: &str, values: &str, t: Micros, dt: Option<f64>, out: &mut Out<'_>) {
    let mut row = out.row(&load::TABLE, t, dt);
    row.str(load::generator, "ycsb").str(load::operation, operation);
    for (key, value) in values.split(", ").filter_map(|pair| pair.split_once('=')) {
        let value = number(value.trim());
        let ms = value.map(|us| us / 1e3);
        match key {
            "Count" => {
                row.f64(load::transactions_per_s, value.zip(dt).map(|(n, dt)| n / dt));
            }
            "Max" => {
                row.f64(load::latency_max_ms, ms);
            }
            "Min" => {
                row.f64(load::latency_min_ms, ms);
            }
            "Avg" => {
                row.f64(load::latency_mean_ms, ms);
            }
            // 99.99 has no column.
            _ => {
                if let Some(column) = number(key).and_then(percentile_column) {
                    row.f64(column, ms);
                }
            }
        }
    }
}

/// `READ AverageLatency(us)=825.83`
fn mean(part: &str, t: Micros, dt: Option<f64>, out: &mut Out<'_>) {
    let Some((operation, value)) = part.split_once(" AverageLatency(us)=") else { return };
    let mut row = out.row(&load::TABLE, t, dt);
    row.str(load::generator, "ycsb").str(load::operation, operation);
    row.f64(load::latency_mean_ms, number(value.trim()).map(|us| us / 1e3));
}

/// `READ count: 203, average latency(us): 1038.82 UPDATE count: 74, average latency(us): 998.22`
fn counts(details: &str, t: Micros, dt: Option<f64>, out: &mut Out<'_>) {
    let mut rest = details;
    while let Some((front, after)) = rest.split_once(" count: ") {
        let Some((count, after)) = after.split_once(", average latency(us): ") else { return };
        let (mean, next) = after.split_once(' ').unwrap_or((after, ""));
        let operation = front.rsplit(' ').next().unwrap_or(front);
        let mut row = out.row(&load::TABLE, t, dt);
        row.str(load::generator, "ycsb").str(load::operation, operation);
        row.f64(load::transactions_per_s, number(count).zip(dt).map(|(n, dt)| n / dt));
        row.f64(load::latency_mean_ms, number(mean).map(|us| us / 1e3));
        rest = next;
    }
}
