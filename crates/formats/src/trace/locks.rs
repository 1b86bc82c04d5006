//! Events of locks, gathered: a lock taken at one place through several stacks is one row.

use fenxi_model::{Micros, catalog::lock};
use rustc_hash::FxHashMap;

use crate::Out;

/// Distinct places that are held before they are written, however incomplete.
const MAX_PLACES: usize = 1 << 20;

/// Identifier of lock events.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    /// As in the `event` column.
    pub(super) event: &'a str,
    pub(super) lock: &'a str,
    pub(super) caller: &'a str,
}

/// How long events took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Mean {
    /// A mean time in seconds.
    Seconds(f64),
    /// A mean number of turns in the spin loop.
    Turns(f64),
    /// It was not measured.
    Unknown,
}

#[derive(Debug)]
struct Sum {
    event: Box<str>,
    lock: Box<str>,
    caller: Box<str>,
    events: f64,
    total_s: Option<f64>,
    turns: Option<f64>,
    /// As printed last: the mean where the number of events is not known.
    last: Mean,
    /// Events of this kind at all places.
    of: Option<f64>,
    /// Upper bounds of buckets and what fell into them.
    buckets: Vec<(f64, f64)>,
}

/// Adds up lock events of equal places.
#[derive(Debug)]
pub(super) struct Locks {
    format: &'static str,
    places: FxHashMap<Box<str>, usize>,
    sums: Vec<Sum>,
    /// The key being made.
    key: String,
}

impl Locks {
    /// Metrics are named after `format`.
    pub(super) fn new(format: &'static str) -> Locks {
        Locks { format, places: FxHashMap::default(), sums: Vec::new(), key: String::new() }
    }

    /// Whether nothing is held.
    pub(super) fn is_empty(&self) -> bool {
        self.sums.is_empty()
    }

    /// Whether so much is held that it must be written now.
    pub(super) fn is_full(&self) -> bool {
        self.sums.len() >= MAX_PLACES
    }

    /// Counts `events` of a place, of all `of` events of this kind.
    pub(super) fn add(&mut self, place: Place<'_>, events: f64, mean: Mean, of: Option<f64>) {
        let at = self.place(place);
        let Some(sum) = self.sums.get_mut(at) else { return };
        let (total_s, turns) = match mean {
            Mean::Seconds(mean) => (Some(mean * events), None),
            Mean::Turns(turns) => (None, Some(turns * events)),
            Mean::Unknown => (None, None),
        };
        if sum.events == 0.0 {
            (sum.total_s, sum.turns) = (total_s, turns);
        } else {
            sum.total_s = sum.total_s.zip(total_s).map(|(a, b)| a + b);
            sum.turns = sum.turns.zip(turns).map(|(a, b)| a + b);
        }
        sum.events += events;
        sum.last = mean;
        sum.of = of;
    }

    /// Counts what fell into the bucket below `hi`, a power of two, at a place.
    pub(super) fn bucket(&mut self, place: Place<'_>, hi: f64, count: f64) {
        let at = self.place(place);
        let Some(sum) = self.sums.get_mut(at) else { return };
        match sum.buckets.iter_mut().find(|(h, _)| *h == hi) {
            Some((_, n)) => *n += count,
            None => sum.buckets.push((hi, count)),
        }
    }

    fn place(&mut self, place: Place<'_>) -> usize {
        self.key.clear();
        for part in [place.event, place.lock, place.caller] {
            self.key.push_str(part);
            self.key.push('\u{1}');
        }
        if let Some(at) = self.places.get(self.key.as_str()) {
            return *at;
        }
        self.places.insert(self.key.as_str().into(), self.sums.len());
        self.sums.push(Sum {
            event: place.event.into(),
            lock: place.lock.into(),
            caller: place.caller.into(),
            events: 0.0,
            total_s: None,
            turns: None,
            last: Mean::Unknown,
            of: None,
            buckets: Vec::new(),
        });
        self.sums.len() - 1
    }

    /// Writes all places in the order in which they first came.
    pub(super) fn flush(&mut self, out: &mut Out<'_>, t: Option<Micros>, dt: Option<f64>, pid: Option<i64>) {
        self.places.clear();
        for sum in self.sums.drain(..) {
            let some = |text: &str| Some(text.to_owned()).filter(|t| !t.is_empty());
            let mean = |total: f64| if sum.events > 0.0 { Some(total / sum.events) } else { None };
            let (mean_s, mean_turns) = match sum.last {
                Mean::Seconds(s) if sum.events.is_nan() => (Some(s), None),
                Mean::Turns(turns) if sum.events.is_nan() => (None, Some(turns)),
                _ => (sum.total_s.and_then(mean), sum.turns.and_then(mean)),
            };
            let mut row = out.row(&lock::TABLE, t, dt);
            row.i64(lock::pid, pid).str(lock::event, &*sum.event);
            row.str(lock::lock, some(&sum.lock).as_deref()).str(lock::caller, some(&sum.caller).as_deref());
            row.f64(lock::events, sum.events).f64(lock::total_s, sum.total_s);
            row.f64(lock::mean_us, mean_s.map(|s| s * 1e6));
            row.f64(lock::share, sum.of.filter(|of| *of > 0.0).map(|of| 100.0 * sum.events / of));
            if sum.turns.is_none() && sum.buckets.is_empty() {
                continue;
            }
            let labels = format!("event={},lock={},caller={}", sum.event, sum.lock, sum.caller);
            if let Some(turns) = mean_turns {
                out.metric(t, dt, &format!("{}.mean_spins", self.format), &labels, turns, "");
            }
            let (name, unit) = if sum.turns.is_some() { ("lock_spins", "spins") } else { ("lock_time_ns", "ns") };
            for (hi, count) in sum.buckets {
                let lo = if hi <= 1.0 { 0.0 } else { hi / 2.0 };
                out.bucket(t, dt, name, &labels, lo, hi, unit, count);
            }
        }
    }
}
