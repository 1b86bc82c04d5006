//! `criterion`, the benchmark harness of Rust: what `cargo bench` prints, and `estimates.json`.
//!
//! `time: [lower estimate upper]` is the estimate of one iteration's time and its confidence interval (95 % unless set); throughput
//! likewise. `change` is against the results kept from the run before. An `estimates.json` names no benchmark: it is the name of the
//! folder above.

use super::{
    names::{self, Results},
    repeats::Repeats,
    tree::figure,
    units::milliseconds,
};
use crate::{Family, Format, Head, Input, Out, Sure, json, number};

/// Importer for criterion (Rust) output of cargo bench, estimates.json.
pub static FORMAT: Format = Format {
    name: "criterion",
    summary: "criterion (Rust): output of cargo bench, estimates.json",
    family: Family::Load,
    tables: &[],
    example: "fib 20                  time:   [26.111 µs 26.180 µs 26.262 µs]\n",
    sniff,
    read,
};

const MAX_BYTES: usize = 1 << 20;

fn sniff(head: &Head<'_>) -> Sure {
    let own = |l: &str| line(l).is_some_and(|(_, what, rest)| what == "time" && bounds(rest).is_some());
    let keys =
        ["\"confidence_interval\"", "\"point_estimate\"", "\"standard_error\"", "\"median_abs_dev\"", "\"std_dev\""];
    let json = head.text.starts_with('{') && keys.iter().all(|key| head.text.contains(key));
    Sure::Certain.when(json || head.any(own))
}

/// `fib 20   time:   [26.111 µs 26.180 µs 26.262 µs]`: the name, which may be on the line above, what it is, and the rest.
fn line(line: &str) -> Option<(&str, &str, &str)> {
    for what in ["time", "thrpt", "change"] {
        let mark = format!("{what}:");
        if let Some((name, rest)) = line.split_once(&mark).filter(|(_, rest)| rest.trim().starts_with('[')) {
            return Some((name.trim(), what, rest.trim()));
        }
    }
    None
}

/// The three values in brackets, each with its unit.
fn bounds(rest: &str) -> Option<[(f64, &str); 3]> {
    let inner = rest.strip_prefix('[')?.split_once(']')?.0;
    let words: Vec<&str> = inner.split_ascii_whitespace().collect();
    let value = |number_at: &str| number(number_at.replace('−', "-").trim_start_matches('+'));
    match words[..] {
        [a, ua, b, ub, c, uc] => Some([(value(a)?, ua), (value(b)?, ub), (value(c)?, uc)]),
        [a, b, c] => {
            let share = |w: &str| value(w.strip_suffix('%')?);
            Some([(share(a)?, "%"), (share(b)?, "%"), (share(c)?, "%")])
        }
        _ => None,
    }
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    if input.head().starts_with('{') {
        estimates(input, out);
        return;
    }
    let mut reader = Reader::default();
    input.each_line(|number, full| {
        // Progress overwrites itself on a terminal.
        let text = full.rsplit(['\r', '\u{8}']).find(|part| !part.trim().is_empty()).unwrap_or("");
        if !text.trim().is_empty() && !reader.line(text, out) {
            out.unknown(number, full, "no line of criterion");
        }
    });
}

#[derive(Default)]
struct Reader {
    repeats: Repeats,
    results: Results,
    name: String,
    /// A name alone on its line.
    above: String,
}

impl Reader {
    fn line(&mut self, text: &str, out: &mut Out<'_>) -> bool {
        let Some((name, what, rest)) = line(text) else {
            let known = is_known(text.trim());
            if known || text.starts_with(' ') {
                return known;
            }
            let unused = std::mem::replace(&mut self.above, text.trim().to_owned());
            if !unused.is_empty() {
                out.note(None, &format!("no line of criterion: {unused}"));
            }
            return true;
        };
        let Some(bounds) = bounds(rest) else { return false };
        let percent = bounds.iter().all(|(_, unit)| *unit == "%");
        if what == "time" && !percent {
            let above = std::mem::take(&mut self.above);
            if !name.is_empty() && !above.is_empty() {
                out.note(None, &format!("no line of criterion: {above}"));
            }
            self.name = if name.is_empty() { above } else { name.to_owned() };
            self.results = self.repeats.next(&self.name);
        }
        let benchmark = self.name.as_str();
        let results = &mut self.results;
        if percent {
            let part = if what == "thrpt" { "throughput" } else { "time" };
            for (end, (value, _)) in ["_low", "", "_high"].iter().zip(bounds) {
                results.named(out, &format!("criterion.change_{part}{end}"), benchmark, Some(value), "%", "neither");
            }
            return true;
        }
        for (end, (value, unit)) in ["low", "", "high"].iter().zip(bounds) {
            match (what, rate(unit)) {
                ("time", _) => {
                    let Some(ms) = milliseconds(&format!("{value}{}", if unit == "ps" { "ns" } else { unit })) else {
                        return false;
                    };
                    let s = if unit == "ps" { ms / 1e6 } else { ms / 1e3 };
                    results.derived(out, names::TIME_PER_OP, end, benchmark, s);
                }
                ("thrpt", Some((true, factor))) => {
                    results.derived(out, names::TRANSFER_BYTES_PER_S, end, benchmark, value * factor);
                }
                ("thrpt", Some((false, factor))) => {
                    results.derived(out, names::THROUGHPUT, end, benchmark, value * factor)
                }
                _ => return false,
            }
        }
        true
    }
}

/// Whether a unit of throughput counts bytes, and what makes the plain rate of it: `MiB/s`, `MB/s`, `Kelem/s`.
fn rate(unit: &str) -> Option<(bool, f64)> {
    let what = unit.strip_suffix("/s")?;
    let (bytes, prefix) = match (what.strip_suffix("elem"), what.strip_suffix('B')) {
        (Some(prefix), _) => (false, prefix),
        (None, Some(prefix)) => (true, prefix),
        (None, None) => return None,
    };
    let (letter, base): (&str, f64) = prefix.strip_suffix('i').map_or((prefix, 1e3), |letter| (letter, 1024.0));
    let power = ["", "K", "M", "G", "T"].iter().position(|p| p.eq_ignore_ascii_case(letter))?;
    Some((bytes, base.powi(i32::try_from(power).ok()?)))
}

/// Remarks on the measurement.
fn is_known(line: &str) -> bool {
    let begins = [
        "Benchmarking ",
        "Found ",
        "No change in performance",
        "Performance has ",
        "Change within noise",
        "change:",
        "Warning: ",
        "Gnuplot ",
        "running ",
        "test ",
        "test result:",
        "Running ",
        "Compiling ",
        "Finished ",
        "time:",
        "thrpt:",
        "WARNING",
    ];
    let outliers = ["low severe", "low mild", "high mild", "high severe"];
    begins.iter().any(|b| line.starts_with(b)) || outliers.iter().any(|o| line.ends_with(o))
}

fn estimates(input: &mut Input<'_>, out: &mut Out<'_>) {
    let file = out.hints().file.clone();
    let mut folders = file.rsplit(['/', '\\']).skip(1).skip_while(|f| matches!(*f, "new" | "base" | "change"));
    let name = folders.next().unwrap_or("").to_owned();
    let Some(document) = input.whole(MAX_BYTES).and_then(|text| json::object(&text)) else {
        out.note(None, "no complete estimates of criterion");
        return;
    };
    if file.contains("/change/") {
        out.note(None, "shares of the time of another run, which are no times");
        return;
    }
    let mut results = Results::default();
    let seconds = |path: &str| figure(&document, path).map(|ns| ns / 1e9);
    // The report prints the slope, where there is one.
    let best = if seconds("slope/point_estimate").is_some() { "slope" } else { "mean" };
    let bound = |what: &str| seconds(&format!("{best}/confidence_interval/{what}"));
    results.of(out, names::TIME_PER_OP, &name, seconds(&format!("{best}/point_estimate")));
    results.derived(out, names::TIME_PER_OP, "low", &name, bound("lower_bound"));
    results.derived(out, names::TIME_PER_OP, "high", &name, bound("upper_bound"));
    for (key, of) in [("mean", "mean"), ("median", "median"), ("std_dev", "stddev"), ("median_abs_dev", "mad")] {
        results.derived(out, names::TIME_PER_OP, of, &name, seconds(&format!("{key}/point_estimate")));
    }
}
