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
    bytes: usize,
    /// The key being made.
    key: String,
}

#[derive(Debug)]
struct Sum {
    order: usize,
    samples: f64,
    time_s: Option<f64>,
}

/// Whose stack it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner<'a> {
    pub(super) comm: Option<&'a str>,
    pub(super) pid: Option<i64>,
    /// What was sampled, as the `event` column tells it.
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

    /// Counts `samples` of a stack that is given from the outermost frame to the innermost.
    pub(super) fn add<'f>(
        &mut self,
        owner: Owner<'_>,
        frames: impl Iterator<Item = &'f str>,
        samples: f64,
        time_s: Option<f64>,
    ) {
        use std::fmt::Write;
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
            sum.samples += samples;
            sum.time_s = sum.time_s.zip(time_s).map(|(a, b)| a + b);
            return;
        }
        self.bytes += self.key.len() + 64;
        let order = self.sums.len();
        self.sums.insert(self.key.as_str().into(), Sum { order, samples, time_s });
    }

    /// Writes all stacks in the order in which they first came.
    ///
    /// Each sample stands for `sample_s` seconds where its own time is not known.
    pub(super) fn flush(&mut self, out: &mut Out<'_>, t: Option<Micros>, dt: Option<f64>, sample_s: Option<f64>) {
        let mut sums: Vec<_> = self.sums.drain().collect();
        sums.sort_unstable_by_key(|(_, sum)| sum.order);
        self.bytes = 0;
        for (key, sum) in sums {
            let mut parts = key.splitn(4, PART);
            let mut part = || parts.next().filter(|p| !p.is_empty());
            let (comm, pid, event, frames) = (part(), part(), part(), part());
            let mut row = out.row(&stack::TABLE, t, dt);
            row.str(stack::comm, comm).i64(stack::pid, pid.and_then(|p| p.parse().ok()));
            row.str(stack::event, event).str(stack::stack, frames.unwrap_or(""));
            row.f64(stack::samples, sum.samples);
            row.f64(stack::time_s, sum.time_s.or(sample_s.map(|s| s * sum.samples)));
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
