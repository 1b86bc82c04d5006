//! Statistics of a table that did not fit a chunk, read back from its finished file.

use std::{borrow::Cow, ops::Range, path::Path};

use arrow_array::{
    Array, Float64Array, RecordBatch,
    cast::AsArray,
    types::{Float64Type, Int64Type},
};
use arrow_schema::DataType;
use fenxi_model::Table;
use fs_err as fs;
use parquet::arrow::{ProjectionMask, arrow_reader::ParquetRecordBatchReaderBuilder};

use crate::{
    StoreError,
    parquet_file::parquet_error,
    stats::{Stat, summarise},
};

/// A finished file whose statistics are made; apart from what seals it, so that threads can share it.
pub(crate) struct Finished<'a> {
    pub(crate) table: &'static Table,
    pub(crate) path: &'a Path,
    /// Of each row group the series in it, and how many rows each has there.
    pub(crate) layout: &'a [Vec<(u32, usize)>],
}

impl Finished<'_> {
    /// Statistics of the columns at `places` of the series in `wanted`, whose intervals are `dts`; each of `rooms` is a
    /// thread's, which reads `at_once` columns.
    pub(crate) fn stats(
        &self,
        places: &[usize],
        at_once: usize,
        wanted: Range<usize>,
        dts: &ValueBuffer,
        rooms: &mut [ValueBuffer],
    ) -> Result<Vec<(usize, &'static str, Stat)>, StoreError> {
        let of_some = |places: &[usize], room: &mut ValueBuffer| -> Result<Vec<_>, StoreError> {
            self.read(places, wanted.clone(), room)?;
            let (mut found, mut scratch) = (Vec::new(), std::mem::take(&mut room.scratch));
            for series in wanted.clone() {
                for (i, place) in places.iter().enumerate() {
                    let at = series - wanted.start;
                    let stat = summarise(room.column(at, i), dts.column(at, 0), &mut scratch);
                    found.extend(stat.map(|stat| (series, self.table.columns[*place].name, stat)));
                }
            }
            room.scratch = scratch;
            Ok(found)
        };
        let done: Vec<_> = std::thread::scope(|scope| {
            let of_some = &of_some;
            let parts = places.chunks(at_once).zip(rooms);
            let running: Vec<_> = parts.map(|(places, room)| scope.spawn(move || of_some(places, room))).collect();
            running.into_iter().map(std::thread::ScopedJoinHandle::join).collect()
        });
        let mut found = Vec::new();
        for part in done {
            // A thread cannot panic; if it did, there would be no statistics to write.
            found.extend(part.map_err(|_| std::io::Error::other("statistics could not be made"))??);
        }
        Ok(found)
    }

    /// Reads the columns at `places` of the series in `wanted`.
    pub(crate) fn read(
        &self,
        places: &[usize],
        wanted: Range<usize>,
        room: &mut ValueBuffer,
    ) -> Result<(), StoreError> {
        let names: Vec<&'static str> = places.iter().map(|p| self.table.columns[*p].name).collect();
        let mut rows = vec![0usize; wanted.len()];
        for (series, n) in self.layout.iter().flatten().filter(|(series, _)| wanted.contains(&(*series as usize))) {
            rows[*series as usize - wanted.start] += n;
        }
        room.lay_out(names.len(), &rows);
        // Series are contiguous within a chunk, so that most row groups hold none of those wanted.
        let groups: Vec<usize> = (0..self.layout.len())
            .filter(|g| self.layout[*g].iter().any(|(series, _)| wanted.contains(&(*series as usize))))
            .collect();
        let mut layout = groups.iter().flat_map(|g| &self.layout[*g]).copied();
        let mut current = layout.next().unwrap_or((0, 0));
        let fail = |e| parquet_error(self.path, e);
        let builder = ParquetRecordBatchReaderBuilder::try_new(fs::File::open(self.path)?.into_file()).map_err(fail)?;
        let mask = ProjectionMask::columns(builder.parquet_schema(), names.iter().copied());
        let builder = builder.with_projection(mask).with_row_groups(groups.clone());
        let reader = builder.with_batch_size(1 << 14).build().map_err(fail)?;
        for batch in reader {
            let batch = batch.map_err(|source| StoreError::Arrow { path: self.path.to_owned(), source })?;
            let parts: Vec<Cow<'_, [f64]>> = names.iter().map(|n| floats(&batch, n)).collect();
            let mut done = 0;
            while done < batch.num_rows() {
                while current.1 == 0 {
                    let Some(next) = layout.next() else { return Ok(()) };
                    current = next;
                }
                let n = current.1.min(batch.num_rows() - done);
                if wanted.contains(&(current.0 as usize)) {
                    room.add(current.0 as usize - wanted.start, &parts, done..done + n);
                }
                current.1 -= n;
                done += n;
            }
        }
        Ok(())
    }
}

/// Values of some columns of some series, one column of a series after another. The memory is used again for those to come:
/// fresh memory costs as much as the figures made of it.
#[derive(Default)]
pub(crate) struct ValueBuffer {
    values: Vec<f64>,
    /// Of each series where it begins, how many rows it may have, and how many it has.
    series: Vec<(usize, usize, usize)>,
    scratch: Vec<i64>,
}

impl ValueBuffer {
    /// Makes room for series of `rows` rows with so many columns each.
    fn lay_out(&mut self, columns: usize, rows: &[usize]) {
        self.series.clear();
        let mut begin = 0;
        for n in rows {
            self.series.push((begin, *n, 0));
            begin += n * columns;
        }
        // Old values are overwritten, or not read.
        if self.values.len() < begin {
            self.values.resize(begin, f64::NAN);
        }
    }

    /// Adds the rows at `range` of each column to a series.
    fn add(&mut self, series: usize, columns: &[Cow<'_, [f64]>], range: Range<usize>) {
        let (begin, most, n) = &mut self.series[series];
        for (i, column) in columns.iter().enumerate() {
            let at = *begin + i * *most + *n;
            self.values[at..at + range.len()].copy_from_slice(&column[range.clone()]);
        }
        *n += range.len();
    }

    /// The values of a column of a series.
    fn column(&self, series: usize, column: usize) -> &[f64] {
        let (begin, most, n) = self.series[series];
        &self.values[begin + column * most..][..n]
    }
}

/// A column of numbers, NaN where NULL; all NaN when the batch has no such column.
fn floats<'b>(batch: &'b RecordBatch, name: &str) -> Cow<'b, [f64]> {
    let Some(array) = batch.column_by_name(name) else { return vec![f64::NAN; batch.num_rows()].into() };
    match array.data_type() {
        DataType::Int64 => array.as_primitive::<Int64Type>().iter().map(|v| v.map_or(f64::NAN, |v| v as f64)).collect(),
        _ => {
            let array: &Float64Array = array.as_primitive::<Float64Type>();
            match array.nulls() {
                None => Cow::Borrowed(array.values()),
                Some(_) => array.iter().map(|v| v.unwrap_or(f64::NAN)).collect(),
            }
        }
    }
}
