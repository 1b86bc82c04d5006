//! Histograms aggregated in the kernel: bucket bounds (`bucket_of` in `bpf/common.h`), and their rows.

use fenxi_model::{Rows, catalog::histogram as c};
use fenxi_source::Tick;

/// Each power of two has `1 << SUB_BITS` buckets; numbers below that have one each.
const SUB_BITS: u32 = 3;
/// Number of buckets.
pub const BUCKETS: usize = ((64 - SUB_BITS + 1) << SUB_BITS) as usize;

/// The values that bucket `place` counts: from, and up to but without.
pub fn bounds(place: usize) -> (f64, f64) {
    let low = |place: usize| {
        let sub = 1usize << SUB_BITS;
        if place < sub {
            return place as f64;
        }
        let (power, part) = (place / sub - 1, place % sub);
        (sub + part) as f64 * 2f64.powi(i32::try_from(power).unwrap_or(i32::MAX))
    };
    (low(place), low(place + 1))
}

/// The quantity of a histogram.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Of<'a> {
    pub name: &'a str,
    pub labels: &'a str,
    pub unit: &'a str,
    /// Its unit, in what was counted.
    pub scale: f64,
}

/// A row for each bucket that has any.
pub(crate) fn rows(of: Of<'_>, counts: &[u64], tick: Tick, rows: &mut Rows) {
    for (place, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let (low, high) = bounds(place);
        row(of, (low * of.scale, Some(high * of.scale)), *count, tick, rows);
    }
}

/// A row for each power of two that has any; the last one counts all that is beyond, too.
pub(crate) fn powers(of: Of<'_>, counts: &[u64], tick: Tick, rows: &mut Rows) {
    // Divided, as bounds are keys and runs that were recorded have these.
    let bound = |power: usize| 2f64.powi(i32::try_from(power).unwrap_or(i32::MAX)) / of.scale.recip();
    for (power, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let low = if power == 0 { 0.0 } else { bound(power) };
        row(of, (low, (power + 1 < counts.len()).then(|| bound(power + 1))), *count, tick, rows);
    }
}

/// A row for one bucket, with its bounds in the histogram's unit; None: it has no end.
fn row(of: Of<'_>, (low, high): (f64, Option<f64>), count: u64, tick: Tick, rows: &mut Rows) {
    let mut row = rows.row(&c::TABLE, tick.t, tick.dt);
    row.str(c::name, of.name).str(c::labels, of.labels).str(c::unit, of.unit);
    row.f64(c::lo, low).f64(c::hi, high).f64(c::count, count as f64);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `bucket_of` in C.
    fn bucket_of(v: u64) -> usize {
        if v < 1 << SUB_BITS {
            return v as usize;
        }
        let power = v.ilog2();
        (((power - SUB_BITS + 1) << SUB_BITS) + ((v >> (power - SUB_BITS)) as u32 & ((1 << SUB_BITS) - 1))) as usize
    }

    #[test]
    fn every_value_is_within_its_bucket() {
        let values = (0..64).flat_map(|p| [0, 1, 3].map(|more| (1u64 << p).saturating_add(more << p >> 2)));
        for v in values.chain(0..5000).chain([u64::MAX]) {
            let place = bucket_of(v);
            assert!(place < BUCKETS, "{v}");
            let (low, high) = bounds(place);
            assert!(low <= v as f64 && (v as f64) < high || v > 1 << 53, "{v}: {low}..{high}");
            assert!(high - low <= (low / 8.0).max(1.0));
        }
    }
}
