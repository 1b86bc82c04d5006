//! Counters and buckets from scrape to scrape.

use std::collections::BTreeMap;

use fenxi_model::Micros;
use rustc_hash::FxHashMap;

use crate::Out;

/// Series that are followed; when there are more, all are begun anew.
const MAX_SERIES: usize = 1 << 20;
/// Cumulative counts that are gathered before they are written, however incomplete.
const MAX_GATHERED: usize = 1 << 20;

/// A counter: its first value, its last, and whether there was more than one.
#[derive(Debug)]
struct Counter {
    first: (Micros, f64),
    last: (Micros, f64),
    unit: &'static str,
    moved: bool,
}

/// Follows counters, by their name and labels with a line end between.
#[derive(Debug, Default)]
pub(super) struct Counters {
    places: FxHashMap<Box<str>, usize>,
    counters: Vec<(Box<str>, Counter)>,
}

impl Counters {
    pub(super) fn add(&mut self, key: &str, unit: &'static str, t: Micros, value: f64, out: &mut Out<'_>) {
        let Some(place) = self.places.get(key) else {
            if self.counters.len() >= MAX_SERIES {
                self.finish(out);
            }
            self.places.insert(key.into(), self.counters.len());
            self.counters.push((key.into(), Counter { first: (t, value), last: (t, value), unit, moved: false }));
            return;
        };
        let Some((_, counter)) = self.counters.get_mut(*place) else { return };
        let (last_t, last) = std::mem::replace(&mut counter.last, (t, value));
        let dt = (t.0 as f64 - last_t.0 as f64) / 1e6;
        if dt <= 0.0 {
            return;
        }
        counter.moved = true;
        let (name, labels) = key.split_once('\n').unwrap_or((key, ""));
        let name = format!("{}_per_s", name.strip_suffix("_total").unwrap_or(name));
        let rate = if value < last { None } else { Some((value - last) / dt) };
        out.metric(t, dt, &name, labels, rate, per_second(counter.unit));
    }

    /// Writes the first values: apart where there were further ones.
    pub(super) fn finish(&mut self, out: &mut Out<'_>) {
        self.places.clear();
        for (key, counter) in std::mem::take(&mut self.counters) {
            let (name, labels) = key.split_once('\n').unwrap_or((&key, ""));
            out.since_boot(counter.moved);
            out.metric(counter.first.0, None, name, labels, counter.first.1, counter.unit);
        }
        out.since_boot(false);
    }
}

fn per_second(unit: &'static str) -> &'static str {
    match unit {
        "B" => "B/s",
        "s" => "s/s",
        "J" => "W",
        _ => "/s",
    }
}

/// Cumulative counts by upper bound.
type Cumulative = Vec<(f64, f64)>;

/// Follows the buckets of histograms.
#[derive(Debug, Default)]
pub(super) struct Buckets {
    name: String,
    unit: &'static str,
    gauge: bool,
    /// Buckets read of the family at hand: by labels and time.
    gathered: BTreeMap<(Box<str>, i64), Cumulative>,
    values: usize,
    /// The counts that each histogram had last, by name and labels.
    last: BTreeMap<(String, Box<str>), Followed>,
}

#[derive(Debug)]
struct Followed {
    unit: &'static str,
    first: (Micros, Cumulative),
    last: (Micros, Cumulative),
    moved: bool,
}

impl Buckets {
    pub(super) fn add(
        &mut self,
        name: &str,
        labels: &str,
        unit: &'static str,
        gauge: bool,
        (t, le, count): (Micros, f64, f64),
        out: &mut Out<'_>,
    ) {
        if self.name != name || self.values >= MAX_GATHERED {
            self.end_family(out);
            name.clone_into(&mut self.name);
        }
        (self.unit, self.gauge) = (unit, gauge);
        self.values += 1;
        self.gathered.entry((labels.into(), t.0)).or_default().push((le, count));
    }

    /// Turns what was gathered into counts of single buckets and intervals.
    pub(super) fn end_family(&mut self, out: &mut Out<'_>) {
        self.values = 0;
        let (name, unit) = (std::mem::take(&mut self.name), self.unit);
        for ((labels, t), mut counts) in std::mem::take(&mut self.gathered) {
            counts.sort_by(|a, b| a.0.total_cmp(&b.0));
            let t = Micros(t);
            if self.gauge {
                write(out, (t, None), &name, &labels, unit, &counts);
                continue;
            }
            if self.last.len() >= MAX_SERIES {
                self.finish(out);
            }
            let key = (name.clone(), labels);
            let Some(followed) = self.last.get_mut(&key) else {
                let first = (t, counts);
                self.last.insert(key, Followed { unit, last: first.clone(), first, moved: false });
                continue;
            };
            let (last_t, last) = std::mem::replace(&mut followed.last, (t, counts));
            let dt = (t.0 as f64 - last_t.0 as f64) / 1e6;
            let same = last.iter().map(|b| b.0).eq(followed.last.1.iter().map(|b| b.0));
            let fell = last.iter().zip(&followed.last.1).any(|(before, now)| now.1 < before.1);
            if dt <= 0.0 || !same || fell {
                continue;
            }
            followed.moved = true;
            let more = followed.last.1.iter().zip(&last).map(|(now, before)| (now.0, now.1 - before.1)).collect();
            write(out, (t, Some(dt)), &key.0, &key.1, unit, &more);
        }
    }

    /// Writes the first distributions: apart where there were further ones.
    pub(super) fn finish(&mut self, out: &mut Out<'_>) {
        for ((name, labels), followed) in std::mem::take(&mut self.last) {
            out.since_boot(followed.moved);
            write(out, (followed.first.0, None), &name, &labels, followed.unit, &followed.first.1);
        }
        out.since_boot(false);
    }
}

/// Writes cumulative counts as one row for each bucket that holds anything.
fn write(
    out: &mut Out<'_>,
    (t, dt): (Micros, Option<f64>),
    name: &str,
    labels: &str,
    unit: &'static str,
    cumulative: &Cumulative,
) {
    // The lower bound is not given of the first bucket, but what is measured is rarely negative.
    let first = cumulative.first().map_or(0.0, |(le, _)| *le);
    let (mut lo, mut below) = (if first > 0.0 { 0.0 } else { f64::NEG_INFINITY }, 0.0);
    for (le, count) in cumulative {
        if *count > below {
            out.bucket(t, dt, name, labels, lo, Some(*le).filter(|le| le.is_finite()), unit, count - below);
        }
        (lo, below) = (*le, *count);
    }
}
