//! `stats.parquet`: summary statistics of each series of a run, so that comparing thousands of runs reads kilobytes.
//!
//! One row per table, host, key and column that holds numbers. Mean and standard deviation weigh
//! each value by its interval `dt` (all values alike when any of them has none); percentiles are
//! exact, over the values, interpolated between neighbours as SQL's `percentile_cont` does.

use std::{path::Path, sync::Arc};

use arrow_array::{
    Float64Array, Int64Array, RecordBatch,
    builder::{Float64Builder, Int64Builder, StringDictionaryBuilder},
    types::Int32Type,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::{StoreError, parquet_file::ParquetFile};

/// The name of the window that is the whole run.
pub(crate) const ALL: &str = "all";
/// Rows of statistics gathered before they are written.
const BATCH: usize = 1 << 16;

/// The summary of one series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stat {
    /// Values that are not NULL.
    pub(crate) n: u64,
    /// Seconds that the values cover; None when any has no interval.
    pub(crate) seconds: Option<f64>,
    pub(crate) mean: f64,
    pub(crate) sd: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
    pub(crate) p50: f64,
    pub(crate) p95: f64,
    pub(crate) p99: f64,
}

/// Where the statistics of series go.
pub(crate) trait Stats {
    /// Adds those of a column of the series whose host and key are `key`.
    fn add(
        &mut self,
        table: &'static str,
        key: &(String, String),
        column: &'static str,
        s: Stat,
    ) -> Result<(), StoreError>;
}

/// Summarises `values` (NaN where NULL) with their intervals `dts` (NaN where there is none).
///
/// None when there is no value.
pub(crate) fn summarise(values: &[f64], dts: &[f64], scratch: &mut Vec<i64>) -> Option<Stat> {
    scratch.clear();
    // Sums of values with and without weights are made in one pass: which of them counts is known at its end.
    let (mut weighed, mut seconds, mut weighed_sum, mut plain_sum) = (true, -0.0, -0.0, -0.0);
    let (mut min, mut max) = (f64::INFINITY, f64::NEG_INFINITY);
    for (v, dt) in values.iter().zip(dts).filter(|(v, _)| !v.is_nan()) {
        weighed &= *dt > 0.0;
        seconds += dt;
        weighed_sum += v * dt;
        plain_sum += v;
        (min, max) = (min.min(*v), max.max(*v));
        scratch.push(key(*v));
    }
    let n = scratch.len();
    let first = *scratch.first()?;
    let (total, sum) = if weighed { (seconds, weighed_sum) } else { (n as f64, plain_sum) };
    let mean = sum / total;
    // Many columns of many machines never change: there is nothing to select then.
    let constant = min.to_bits() == max.to_bits() && scratch.iter().all(|v| *v == first);
    // Two passes: the difference of large squares would lose what is small.
    let squares = values.iter().zip(dts).filter(|(v, _)| !v.is_nan()).map(|(v, dt)| {
        let weight = if weighed { *dt } else { 1.0 };
        weight * (v - mean) * (v - mean)
    });
    let variance = squares.sum::<f64>() / total;
    // Rounding must not put a mean of equal values beside them.
    let mean = mean.clamp(min, max);
    let [p50, p95, p99] = if constant { [value(first) + 0.0; 3] } else { quantiles(scratch, [0.5, 0.95, 0.99]) };
    Some(Stat { n: n as u64, seconds: weighed.then_some(total), mean, sd: variance.sqrt(), min, max, p50, p95, p99 })
}

/// A number that is ordered among others as the value is (`f64::total_cmp`): selecting compares these in one step.
fn key(value: f64) -> i64 {
    let bits = value.to_bits() as i64;
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}

/// The value that has a key.
fn value(key: i64) -> f64 {
    f64::from_bits((key ^ ((key >> 63) as u64 >> 1) as i64) as u64)
}

/// The quantiles of values that are not empty, given as their keys, at shares that ascend.
///
/// Selecting costs a few passes where sorting would cost one for each doubling of their number.
fn quantiles<const N: usize>(keys: &mut [i64], shares: [f64; N]) -> [f64; N] {
    let last = keys.len() - 1;
    // Values before `sorted` are not larger than those that follow.
    let mut sorted = 0;
    shares.map(|share| {
        let place = share * last as f64;
        let at = place.floor() as usize;
        let (_, low, above) = keys[sorted..].select_nth_unstable(at - sorted);
        let low = *low;
        let high = if place.fract() > 0.0 { above.iter().copied().min().unwrap_or(low) } else { low };
        sorted = at;
        let (low, high) = (value(low), value(high));
        low + (high - low) * place.fract()
    })
}

fn schema() -> SchemaRef {
    let label = || DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let number = |name| Field::new(name, DataType::Float64, true);
    Arc::new(Schema::new(vec![
        Field::new("table_name", label(), false),
        Field::new("host", label(), false),
        Field::new("key", label(), false),
        Field::new("column_name", label(), false),
        Field::new("window_name", label(), false),
        Field::new("n", DataType::Int64, false),
        number("seconds"),
        number("mean"),
        number("sd"),
        number("min"),
        number("max"),
        number("p50"),
        number("p95"),
        number("p99"),
    ]))
}

/// The statistics of one window of a run, being written: `stats.parquet` for the whole run.
pub(crate) struct StatsFile {
    file: ParquetFile,
    window: String,
    schema: SchemaRef,
    labels: [StringDictionaryBuilder<Int32Type>; 4],
    n: Int64Builder,
    seconds: Float64Builder,
    numbers: [Vec<f64>; 7],
}

impl StatsFile {
    pub(crate) fn create(path: &Path, window: &str) -> Result<StatsFile, StoreError> {
        let schema = schema();
        let file = ParquetFile::create(path, &schema)?;
        Ok(StatsFile {
            file,
            window: window.to_owned(),
            schema,
            labels: Default::default(),
            n: Int64Builder::new(),
            seconds: Float64Builder::new(),
            numbers: Default::default(),
        })
    }

    fn write(&mut self) -> Result<(), StoreError> {
        let n = self.numbers[0].len();
        if n == 0 {
            return Ok(());
        }
        let mut window = StringDictionaryBuilder::<Int32Type>::new();
        window.append_values(&self.window, n);
        let mut columns: Vec<arrow_array::ArrayRef> = Vec::with_capacity(14);
        for builder in &mut self.labels {
            columns.push(Arc::new(builder.finish()));
        }
        columns.push(Arc::new(window.finish()));
        let counts: Int64Array = self.n.finish();
        columns.push(Arc::new(counts));
        columns.push(Arc::new(self.seconds.finish()));
        for values in &mut self.numbers {
            columns.push(Arc::new(Float64Array::from(std::mem::take(values))));
        }
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns);
        self.file.write(&batch.map_err(|source| self.file.arrow_error(source))?)
    }

    pub(crate) fn finish(mut self) -> Result<crate::FileEntry, StoreError> {
        self.write()?;
        self.file.finish("stats")
    }
}

impl Stats for StatsFile {
    fn add(
        &mut self,
        table: &'static str,
        key: &(String, String),
        column: &'static str,
        s: Stat,
    ) -> Result<(), StoreError> {
        for (builder, value) in self.labels.iter_mut().zip([table, &key.0, &key.1, column]) {
            builder.append_value(value);
        }
        self.n.append_value(s.n as i64);
        self.seconds.append_option(s.seconds);
        for (values, value) in self.numbers.iter_mut().zip([s.mean, s.sd, s.min, s.max, s.p50, s.p95, s.p99]) {
            values.push(value);
        }
        if self.numbers[0].len() >= BATCH { self.write() } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::{key, quantiles, summarise, value};

    #[test]
    fn mean_and_sd_weigh_by_interval_and_percentiles_are_exact() {
        // By hand: weights 1, 1, 2; mean (1 + 2 + 2*4)/4 = 2.75;
        // variance (1.75² + 0.75² + 2*1.25²)/4 = (3.0625 + 0.5625 + 3.125)/4 = 1.6875.
        let s = summarise(&[1.0, f64::NAN, 2.0, 4.0], &[1.0, 9.0, 1.0, 2.0], &mut Vec::new()).unwrap();
        assert_eq!((s.n, s.seconds, s.mean, s.min, s.max), (3, Some(4.0), 2.75, 1.0, 4.0));
        assert_eq!(s.sd, 1.6875_f64.sqrt());
        assert_eq!((s.p50, s.p95), (2.0, 2.0 + 2.0 * 0.9));
    }

    #[test]
    fn values_without_an_interval_all_weigh_the_same() {
        let s = summarise(&[1.0, 3.0], &[5.0, f64::NAN], &mut Vec::new()).unwrap();
        assert_eq!((s.seconds, s.mean, s.sd), (None, 2.0, 1.0));
        assert_eq!(summarise(&[f64::NAN], &[1.0], &mut Vec::new()), None);
    }

    #[test]
    fn quantiles_interpolate_between_neighbours() {
        let mut hundred: Vec<i64> = (1..=100).map(|i| key(f64::from(i * 37 % 101))).collect();
        let [p50, p95, p99] = quantiles(&mut hundred, [0.5, 0.95, 0.99]);
        assert!((p50 - 50.5).abs() < 1e-9 && (p95 - 95.05).abs() < 1e-9 && (p99 - 99.01).abs() < 1e-9);
        assert_eq!(quantiles(&mut [key(7.0)], [0.5, 0.99]), [7.0, 7.0]);
        assert_eq!(quantiles(&mut [3.0, 1.0].map(key), [0.5, 0.99]), [2.0, 2.98]);
    }

    #[test]
    fn keys_are_ordered_as_values_are() {
        let ascending = [f64::NEG_INFINITY, -2.5, -0.0, 0.0, f64::MIN_POSITIVE, 1.0, 1e300, f64::INFINITY];
        assert!(ascending.map(key).is_sorted());
        assert_eq!(ascending.map(|v| value(key(v)).to_bits()), ascending.map(f64::to_bits));
    }
}
