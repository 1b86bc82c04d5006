//! Sampled stacks, folded while they are read: memory grows with the distinct stacks only.

use fenxi_model::{Micros, catalog::stack};
use rustc_hash::FxHashMap;

use crate::Out;

/// Bytes of distinct stacks that are held before they are written, however incomplete.
const MAX_BYTES: usize = 256 << 20;
/// Separates the parts of a key; no name holds it.
const PART: char = '\u{1}';

/// Adds up samples of equal stacks.
#[derive(Debug, Default)]
pub(super) struct Stacks {
    /// By program, process, event and frames joined by [`PART`].
    sums: FxHashMap<Box<str>, Sum>,
    /// The events with periods.
    events: Vec<Event>,
    bytes: usize,
    /// The key being made.
    key: String,
}

#[derive(Debug)]
struct Sum {
    order: usize,
    amount: Amount,
}

/// How much was sampled.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Amount {
    pub(super) samples: f64,
    /// The time that they represent, where they have it.
    pub(super) time_s: Option<f64>,
    /// How many of the sampled event they represent, where each has it.
    pub(super) period: Option<f64>,
}

impl Amount {
    /// So many samples, without anything else.
    pub(super) fn of(samples: f64) -> Amount {
        Amount { samples, time_s: None, period: None }
    }
}

/// All samples of one event.
#[derive(Debug)]
struct Event {
    name: String,
    samples: f64,
    /// The sum of the periods; None when a sample has none.
    period: Option<f64>,
    /// The period of the first sample, as long as every other had the same.
    same: Option<f64>,
}

impl Event {
    fn new(name: &str, amount: Amount) -> Event {
        Event { name: name.to_owned(), samples: 0.0, period: Some(0.0), same: amount.period }
    }

    fn add(&mut self, amount: Amount) {
        self.samples += amount.samples;
        self.period = self.period.zip(amount.period).map(|(a, b)| a + b);
        self.same = self.same.filter(|same| amount.period == Some(*same));
    }

    /// The samples of a stack: by its share of the periods where these differ. With a sampling frequency they do,
    /// and the first samples represent next to nothing.
    fn weigh(&self, amount: Amount) -> Amount {
        let total = self.period.filter(|total| self.same.is_none() && *total > 0.0);
        let Some((total, period)) = total.zip(amount.period) else { return amount };
        let samples = self.samples * period / total;
        Amount { samples, time_s: amount.time_s.map(|s| s / amount.samples * samples), ..amount }
    }
}

/// Events that are distinguished for their weights; of more the samples are counted.
const MAX_EVENTS: usize = 256;

/// Whose stack it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner<'a> {
    pub(super) comm: Option<&'a str>,
    pub(super) pid: Option<i64>,
    /// The sampled event, as in the `event` column.
    pub(super) event: &'a str,
}

impl Stacks {
    /// Whether nothing is held.
    pub(super) fn is_empty(&self) -> bool {
        self.sums.is_empty()
    }

    /// Whether so much is held that it must be written now.
    pub(super) fn is_full(&self) -> bool {
        self.bytes > MAX_BYTES
    }

    /// Counts samples of a stack that is given from the outermost frame to the innermost.
    pub(super) fn add<'f>(&mut self, owner: Owner<'_>, frames: impl Iterator<Item = &'f str>, amount: Amount) {
        use std::fmt::Write;
        self.count(owner.event, amount);
        self.key.clear();
        self.key.push_str(owner.comm.unwrap_or(""));
        self.key.push(PART);
        if let Some(pid) = owner.pid {
            let _ = write!(self.key, "{pid}");
        }
        self.key.push(PART);
        self.key.push_str(owner.event);
        self.key.push(PART);
        for (i, frame) in frames.enumerate() {
            if i > 0 {
                self.key.push(';');
            }
            push_frame(&mut self.key, frame);
        }
        if let Some(sum) = self.sums.get_mut(self.key.as_str()) {
            let sum = &mut sum.amount;
            sum.samples += amount.samples;
            sum.time_s = sum.time_s.zip(amount.time_s).map(|(a, b)| a + b);
            sum.period = sum.period.zip(amount.period).map(|(a, b)| a + b);
            return;
        }
        self.bytes += self.key.len() + 64;
        let order = self.sums.len();
        self.sums.insert(self.key.as_str().into(), Sum { order, amount });
    }

    /// Adds a sample to the sum of its event.
    fn count(&mut self, event: &str, amount: Amount) {
        if let Some(sum) = self.events.iter_mut().find(|e| e.name == event) {
            sum.add(amount);
        } else if self.events.len() < MAX_EVENTS {
            let mut sum = Event::new(event, amount);
            sum.add(amount);
            self.events.push(sum);
        }
    }

    /// Writes all stacks in the order in which they first came.
    ///
    /// Each sample represents `sample_s` seconds where its own time is not known.
    pub(super) fn flush(&mut self, out: &mut Out<'_>, t: Option<Micros>, dt: Option<f64>, sample_s: Option<f64>) {
        let mut sums: Vec<_> = self.sums.drain().collect();
        sums.sort_unstable_by_key(|(_, sum)| sum.order);
        self.bytes = 0;
        let events = std::mem::take(&mut self.events);
        for (key, sum) in sums {
            let mut parts = key.splitn(4, PART);
            let mut part = || parts.next().filter(|p| !p.is_empty());
            let (comm, pid, event, frames) = (part(), part(), part(), part());
            let mut row = out.row(&stack::TABLE, t, dt);
            row.str(stack::comm, comm).i64(stack::pid, pid.and_then(|p| p.parse().ok()));
            row.str(stack::event, event).str(stack::stack, frames.unwrap_or(""));
            let of = events.iter().find(|e| Some(e.name.as_str()) == event);
            let amount = of.map_or(sum.amount, |of| of.weigh(sum.amount));
            row.f64(stack::samples, amount.samples);
            row.f64(stack::time_s, amount.time_s.or(sample_s.map(|s| s * amount.samples)));
        }
    }
}

/// Adds a frame's name; a `;` in it would end it.
fn push_frame(key: &mut String, frame: &str) {
    if frame.contains([';', PART]) {
        key.extend(frame.chars().map(|c| if matches!(c, ';' | PART) { ':' } else { c }));
    } else {
        key.push_str(frame);
    }
}

/// The function of a frame: `tcp_input+0xf54` without its offset.
pub(super) fn function(frame: &str) -> &str {
    match frame.rsplit_once("+0x") {
        Some((name, offset)) if !name.is_empty() && offset.bytes().all(|b| b.is_ascii_hexdigit()) => name,
        _ => frame,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_cut_from_functions_only() {
        assert_eq!(function("libc.so.1`malloc+0x1c"), "libc.so.1`malloc");
        assert_eq!(function("0xfffff80001"), "0xfffff80001");
        assert_eq!(function("operator+"), "operator+");
        assert_eq!(function("f+0xzz"), "f+0xzz");
    }
}
