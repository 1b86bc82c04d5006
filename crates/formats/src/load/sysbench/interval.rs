//! The lines that `--report-interval` prints, in the words of each version.
//!
//! `[   2s] threads: 4, tps: 9.00, reads/s: 1.00 response time: 2.10ms (95%)` (0.4, 0.5) and
//! `[ 2s ] thds: 4 tps: 9.00 qps: 9.00 (r/w/o: 1.00/2.00/3.00) lat (ms,95%): 2.1 err/s: 0.00` (1.0)
//! are all made of words, a colon and a value.

use fenxi_model::{Place, catalog::load, place::F64};

use crate::{load::names::percentile_column, number};

/// One number of an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// Of a column of `load`.
    Column(Place<load::Schema, F64>, f64),
    /// Bytes per second that were read.
    Read(f64),
    /// Bytes per second that were written.
    Written(f64),
    /// A percentile of the latency, in milliseconds.
    Latency(f64, f64),
    /// Transactions that run at this moment.
    Concurrency(f64),
}

/// The seconds in front of an interval line and what follows.
pub fn stamp(line: &str) -> Option<(f64, &str)> {
    let (seconds, rest) = line.trim_start().strip_prefix('[')?.split_once(']')?;
    let seconds = number(seconds.trim().strip_suffix('s')?).filter(|s| (0.0..1e9).contains(s))?;
    Some((seconds, rest.trim()))
}

/// Gives every number of an interval to `take`; false when something in it is not known.
pub fn values(mut rest: &str, mut take: impl FnMut(Value)) -> bool {
    // The memory test prints only its rate.
    if let Some(rate) = rest.trim_end_matches(',').strip_suffix("B/sec") {
        let value = mega(rate.trim_end_matches(['i', 'M', ' ']));
        value.into_iter().for_each(|v| take(Value::Column(load::transfer_bytes_per_s, v)));
        return value.is_some();
    }
    let mut known = false;
    let mut response = None;
    while let Some((key, after)) = rest.split_once(':') {
        let after = after.trim_start();
        let end = after.find(char::is_whitespace).unwrap_or(after.len());
        let (value, next) = after.split_at(end);
        // 0.4 and 0.5 say behind the value of which percentile it is: `2.10ms (95%)`.
        if let Some(ms) = response.take() {
            take(Value::Latency(percent(key).unwrap_or(95.0), ms));
        }
        let key = key.trim();
        // `err/s 1.00 reconn/s: 0.00`: scripts for TPC-C leave a colon out.
        let errors = key.split_once("err/s ").and_then(|(_, errors)| number(errors.split(' ').next()?));
        errors.into_iter().for_each(|errors| take(Value::Column(load::errors_per_s, errors)));
        let word = key.rsplit([' ', ',']).next().unwrap_or(key);
        known = match word {
            "(r/w/o" => three(value, &mut take),
            "time" => {
                response = number(value.trim_end_matches("ms"));
                response.is_some()
            }
            _ => number(value.trim_end_matches(',').trim_end_matches("/s"))
                .is_some_and(|v| one(word, key, next, v, &mut take)),
        };
        rest = next;
        if !known {
            break;
        }
    }
    if let Some(ms) = response {
        take(Value::Latency(percent(rest).unwrap_or(95.0), ms));
        rest = "";
    }
    known && !rest.contains(char::is_alphanumeric)
}

fn one(word: &str, key: &str, next: &str, value: f64, take: &mut impl FnMut(Value)) -> bool {
    let bytes = next.trim_start().starts_with('M');
    take(match word {
        "thds" | "threads" => Value::Column(load::clients, value),
        "tps" | "eps" => Value::Column(load::transactions_per_s, value),
        "qps" => Value::Column(load::requests_per_s, value),
        "reads" if bytes => Value::Read(value * MEBI),
        "writes" if bytes => Value::Written(value * MEBI),
        "reads" | "reads/s" => Value::Column(load::reads_per_s, value),
        "writes" | "writes/s" => Value::Column(load::writes_per_s, value),
        "fsyncs" => Value::Column(load::others_per_s, value),
        "err/s" | "errors" => Value::Column(load::errors_per_s, value),
        "reconn/s" | "reconnects" => Value::Column(load::reconnects_per_s, value),
        "length" => Value::Column(load::queue_length, value),
        "concurrency" => Value::Concurrency(value),
        // `lat (ms,95%)`, `latency (ms,95%)`
        _ if word.ends_with("%)") && key.contains("(ms,") => match percent(key) {
            Some(percent) => Value::Latency(percent, value),
            None => return false,
        },
        _ => return false,
    });
    true
}

/// Reads, writes and others, as `1.00/2.00/3.00)`.
fn three(value: &str, take: &mut impl FnMut(Value)) -> bool {
    let mut parts = value.trim_end_matches([')', ',']).split('/').map(number);
    let columns = [load::reads_per_s, load::writes_per_s, load::others_per_s];
    columns.into_iter().all(|column| match parts.next().flatten() {
        Some(value) => {
            take(Value::Column(column, value));
            true
        }
        None => false,
    })
}

/// The number in front of `%`.
fn percent(text: &str) -> Option<f64> {
    let before = text.split('%').next().filter(|b| b.len() < text.len())?;
    number(before.rsplit(['(', ',', ' ']).next()?)
}

/// Bytes of an MB of sysbench: 2^20 in every version.
pub const MEBI: f64 = 1_048_576.0;

fn mega(text: &str) -> Option<f64> {
    number(text).map(|v| v * MEBI)
}

impl Value {
    /// The column of `load` and the value, where there is one.
    pub fn column(self) -> Option<(Place<load::Schema, F64>, f64)> {
        match self {
            Value::Column(column, value) => Some((column, value)),
            Value::Latency(percent, ms) => percentile_column(percent).map(|column| (column, ms)),
            _ => None,
        }
    }
}
