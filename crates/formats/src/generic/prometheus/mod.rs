//! The text formats of Prometheus and OpenMetrics: one scrape, several one after another, or a dump
//! with time stamps.
//!
//! A counter's first value is what it counted since its process began; from the second on there are
//! rates, called as the counter with `_per_s` in place of `_total`. Where several scrapes were read,
//! the first values are set apart as averages since boot are. Buckets are cumulative over their
//! bounds and over time; they become counts of their interval in `histogram`.

mod counters;
mod line;
#[cfg(test)]
mod tests;

use fenxi_model::{Micros, catalog::histogram};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{steps::Steps, when::moment};
use crate::{Family, Format, Head, Input, Out, Relative, Sure};
use counters::{Buckets, Counters};
use line::{Sample, Series, float};

/// Importer for Prometheus text format and OpenMetrics.
pub static FORMAT: Format = Format {
    name: "prometheus",
    summary: "Prometheus text format and OpenMetrics: scrapes of exporters, promtool tsdb dump",
    family: Family::Generic,
    tables: &[&histogram::TABLE],
    example: "\
# HELP node_load1 1m load average.
# TYPE node_load1 gauge
node_load1 0.31
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    if head.any(|line| declaration(line).is_some_and(|d| matches!(d, Declaration::Type(_, Some(_))))) {
        return Sure::Certain;
    }
    // Without declarations only labels distinguish it from other lines of a name and a number.
    let (mut series, mut labelled) = (Series::default(), 0);
    let mut lines = head.lines().filter(|line| !line.starts_with('#')).take(50).peekable();
    let all = lines.all(|line| {
        let read = series.read(line).is_some();
        labelled += u32::from(series.quoted);
        read
    });
    Sure::Likely.when(all && labelled > 0)
}

/// Type of a family's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Gauge,
    Counter,
    Histogram,
    GaugeHistogram,
    Summary,
}

/// A comment with a meaning.
#[derive(Debug)]
enum Declaration<'a> {
    Type(&'a str, Option<Kind>),
    Unit(&'a str, &'a str),
    Help,
    End,
}

fn declaration(line: &str) -> Option<Declaration<'_>> {
    let mut words = line.strip_prefix('#')?.split_ascii_whitespace();
    let (what, name, value) = (words.next()?, words.next(), words.next());
    Some(match (what, name) {
        ("EOF", None) => Declaration::End,
        ("HELP", Some(_)) => Declaration::Help,
        ("UNIT", Some(name)) => Declaration::Unit(name, value.unwrap_or("")),
        ("TYPE", Some(name)) => {
            let kind = match value? {
                "counter" => Kind::Counter,
                "gauge" | "info" | "stateset" => Kind::Gauge,
                "histogram" => Kind::Histogram,
                "gaugehistogram" => Kind::GaugeHistogram,
                "summary" => Kind::Summary,
                "untyped" | "unknown" => return Some(Declaration::Type(name, None)),
                _ => return None,
            };
            Declaration::Type(name, Some(kind))
        }
        _ => return None,
    })
}

/// Families whose type is remembered.
const MAX_FAMILIES: usize = 1 << 16;

struct Reader {
    kinds: FxHashMap<Box<str>, Kind>,
    units: FxHashMap<Box<str>, Box<str>>,
    series: Series,
    counters: Counters,
    buckets: Buckets,
    steps: Steps,
    scrape: Scrape,
    key: String,
    /// The last time stamp of any sample.
    stamp: Option<Micros>,
}

/// Moments of scrapes without time stamps.
struct Scrape {
    relative: Option<Relative>,
    interval_s: Option<f64>,
    /// When the current scrape was, as far as it is known.
    at: Option<Micros>,
    number: u32,
    /// Hashes of the series in the current scrape so far.
    seen: FxHashSet<u64>,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader {
        kinds: FxHashMap::default(),
        units: FxHashMap::default(),
        series: Series::default(),
        counters: Counters::default(),
        buckets: Buckets::default(),
        steps: Steps::new(out.hints().interval_s),
        scrape: Scrape {
            relative: None,
            interval_s: out.hints().interval_s,
            at: None,
            number: 0,
            seen: FxHashSet::default(),
        },
        key: String::new(),
        stamp: None,
    };
    input.each_line(|number, line| reader.line(number, line, out));
    reader.buckets.end_family(out);
    reader.buckets.finish(out);
    reader.counters.finish(out);
}

impl Reader {
    fn line(&mut self, number: u64, line: &str, out: &mut Out<'_>) {
        let line = line.trim();
        if line.is_empty() {
            return;
        }
        if let Some(comment) = line.strip_prefix('#') {
            match declaration(line) {
                Some(Declaration::Type(name, Some(kind))) if self.kinds.len() < MAX_FAMILIES => {
                    self.kinds.insert(name.into(), kind);
                }
                Some(Declaration::Unit(name, unit)) if self.units.len() < MAX_FAMILIES => {
                    self.units.insert(name.into(), unit.into());
                }
                Some(Declaration::End) => self.scrape.next(),
                Some(_) => {}
                // Who scrapes in a loop may write the time between the scrapes.
                None => self.scrape.stamped(moment(comment, &out.hints().zone)),
            }
            return;
        }
        match self.series.read(line) {
            Some(sample) => self.sample(sample, out),
            None => match moment(line, &out.hints().zone) {
                Some(t) => self.scrape.stamped(Some(t)),
                None => out.unknown(number, line, "no name, labels and value"),
            },
        }
    }

    /// The family that a name belongs to, and what its values are.
    fn family<'n>(&self, name: &'n str) -> (&'n str, Kind) {
        if let Some(kind) = self.kinds.get(name) {
            return (name, *kind);
        }
        for suffix in ["_bucket", "_sum", "_count", "_total", "_created", "_info", "_gsum", "_gcount"] {
            if let Some(family) = name.strip_suffix(suffix)
                && let Some(kind) = self.kinds.get(family)
            {
                return (family, *kind);
            }
        }
        match name.strip_suffix("_bucket") {
            Some(family) if self.series.le.is_some() => (family, Kind::Histogram),
            _ if name.ends_with("_total") => (name, Kind::Counter),
            _ => (name, Kind::Gauge),
        }
    }

    fn sample(&mut self, sample: Sample<'_>, out: &mut Out<'_>) {
        let (_, kind) = self.family(&self.series.name);
        let bucket = self.series.name.ends_with("_bucket") && matches!(kind, Kind::Histogram | Kind::GaugeHistogram);
        let le = self.series.le.filter(|_| bucket);
        if let Some(other) = self.series.le.filter(|_| !bucket) {
            self.series.labels.push("le", &other.to_string());
        }
        self.key.clear();
        self.key.push_str(&self.series.name);
        self.key.push('\n');
        self.key.push_str(self.series.labels.text());
        let t = match sample.stamp {
            Some(stamp) => Micros((stamp * micros_in(stamp)).round() as i64),
            // A build's label is without a stamp among others that have one.
            None => match self.stamp {
                Some(stamp) => stamp,
                None => self.scrape.moment(&self.key, le, out),
            },
        };
        self.stamp = sample.stamp.map(|_| t).or(self.stamp);
        let name = self.series.name.as_str();
        let (family, _) = self.family(name);
        if let Some(exemplar) = sample.exemplar {
            let at = exemplar.rsplit('}').next().and_then(|rest| rest.split_ascii_whitespace().nth(1)).and_then(float);
            let at = at.map_or(t, |seconds| Micros((seconds * 1e6) as i64));
            out.event(at, "exemplar", name, exemplar);
        }
        let told = self.units.get(family).filter(|_| !name.ends_with("_count"));
        let unit = told.map_or_else(|| unit_in(name), |unit| symbol(unit));
        let labels = self.series.labels.text();
        if let Some(le) = le {
            self.buckets.add(family, labels, unit, kind == Kind::GaugeHistogram, (t, le, sample.value), out);
            return;
        }
        let last = name.rsplit('_').next().unwrap_or("");
        let counts = match kind {
            Kind::Gauge | Kind::GaugeHistogram => false,
            Kind::Counter => true,
            Kind::Histogram | Kind::Summary => matches!(last, "sum" | "count"),
        };
        if sample.value.is_nan() || last == "created" && kind != Kind::Gauge {
            // No value; and when a counter began, which its reset shows as well.
        } else if counts {
            self.counters.add(&self.key, unit, t, sample.value, out);
        } else {
            let dt = self.steps.dt(&self.key, t);
            out.metric(t, dt, name, labels, sample.value, unit);
        }
    }
}

impl Scrape {
    /// The moment of a sample without a stamp; one that was there already begins the next scrape.
    fn moment(&mut self, key: &str, le: Option<f64>, out: &mut Out<'_>) -> Micros {
        use std::hash::{Hash, Hasher};
        let mut hasher = rustc_hash::FxHasher::default();
        (key, le.map(f64::to_bits)).hash(&mut hasher);
        if !self.seen.insert(hasher.finish()) {
            self.next();
            self.seen.insert(hasher.finish());
        }
        if let Some(at) = self.at {
            return at;
        }
        let relative = self.relative.get_or_insert_with(|| Relative::elapsed(out));
        let interval_s = match self.interval_s {
            Some(interval_s) => interval_s,
            None if self.number > 0 => {
                out.assume("one second between scrapes, as the input does not say (give --interval)");
                *self.interval_s.insert(1.0)
            }
            None => 0.0,
        };
        *self.at.insert(relative.after(f64::from(self.number) * interval_s))
    }

    fn next(&mut self) {
        if !self.seen.is_empty() {
            self.number = self.number.saturating_add(1);
            self.seen.clear();
            self.at = None;
        }
    }

    /// The scrape to come was at `t`.
    fn stamped(&mut self, t: Option<Micros>) {
        if t.is_some() {
            self.next();
            self.at = t;
        }
    }
}

fn symbol(unit: &str) -> &'static str {
    match unit {
        "seconds" => "s",
        "bytes" => "B",
        "hertz" => "Hz",
        "celsius" => "°C",
        "meters" => "m",
        "volts" => "V",
        "amperes" => "A",
        "joules" => "J",
        "grams" => "g",
        _ => "",
    }
}

/// The unit that a name ends in, before its kind.
fn unit_in(name: &str) -> &'static str {
    if name.ends_with("_count") {
        return "";
    }
    let bare = ["_total", "_sum", "_bucket"].iter().find_map(|s| name.strip_suffix(s)).unwrap_or(name);
    symbol(bare.rsplit('_').next().unwrap_or(""))
}

/// Microseconds in the unit of a time since 1970, by its size: seconds, milliseconds, microseconds or nanoseconds. No tool
/// scraped in 1973, and none will in 5138.
fn micros_in(stamp: f64) -> f64 {
    match stamp.abs() {
        size if size < 1e11 => 1e6,
        size if size < 1e14 => 1e3,
        size if size < 1e17 => 1.0,
        _ => 1e-3,
    }
}
