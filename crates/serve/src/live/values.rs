//! JSON of the values of one tick: `{"t_ms": …, "values": {"cpu.usr[0]": 12.5, …}}`.
//!
//! A value is called `table.column`, and `table.column[key]` where it is of one processor, disk, interface …; several
//! keys have a comma between them. A value that is missing is not there; `left_out` is the number of those left out.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::{
    Array, RecordBatch, StringArray,
    cast::AsArray,
    types::{Float64Type, Int32Type, Int64Type, TimestampMicrosecondType},
};
use fenxi_model::{
    Micros, Rows, Shape, Table,
    catalog::{N_COMMON, T, process},
};
use serde::Serialize;

/// Values of one moment that a browser is given: those of a thousand processes.
const MOST_VALUES: usize = 20_000;
/// Processes that the page of this machine shows of one moment: those that used most CPU time.
const MOST_PROCESSES: usize = 15;
/// The values of them that it shows.
const OF_PROCESSES: [&str; 2] = ["cpu[", "rss_bytes["];

/// All values of one moment.
#[derive(Debug, Serialize)]
pub(super) struct Tick {
    pub(super) t_ms: f64,
    pub(super) values: BTreeMap<String, f64>,
    /// Values that are left out because there are too many.
    #[serde(skip_serializing_if = "is_zero")]
    left_out: usize,
}

fn is_zero(n: &usize) -> bool {
    *n == 0
}

impl Tick {
    pub(super) fn new(t: Micros) -> Tick {
        Tick { t_ms: t.0 as f64 / 1e3, values: BTreeMap::new(), left_out: 0 }
    }

    pub(super) fn text(&self) -> String {
        // Numbers and names can always be written.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Keeps what the page of this machine shows: values of `tables`, and of the processes that used most CPU time.
    pub(super) fn keep(&mut self, tables: &BTreeSet<&'static str>) {
        let used = |(name, cpu): (&String, &f64)| Some((*cpu, name.strip_prefix("process.cpu[")?.to_owned()));
        let mut busiest: Vec<(f64, String)> = self.values.iter().filter_map(used).collect();
        busiest.sort_by(|a, b| b.0.total_cmp(&a.0));
        busiest.truncate(MOST_PROCESSES);
        let is_shown = |column: &str| {
            let mut keys = OF_PROCESSES.iter().filter_map(|name| column.strip_prefix(name));
            keys.any(|key| busiest.iter().any(|(_, of)| of == key))
        };
        self.values.retain(|name, _| match name.split_once('.') {
            Some((table, column)) if table == process::TABLE.name => is_shown(column),
            Some((table, _)) => tables.contains(table),
            None => false,
        });
    }

    fn put(&mut self, table: &Table, place: usize, keys: &str, value: f64) {
        if self.values.len() >= MOST_VALUES {
            self.left_out += 1;
            return;
        }
        let name = format!("{}.{}", table.name, table.columns[place].name);
        self.values.insert(if keys.is_empty() { name } else { format!("{name}[{keys}]") }, value);
    }
}

/// All values in `rows`, which are of the moment `t`.
pub(super) fn of_rows(t: Micros, rows: &Rows) -> Tick {
    let mut tick = Tick::new(t);
    // Parts of a distribution are no series, and the numbers that tell them apart no keys.
    for rows in rows.tables().filter(|rows| rows.table().shape == Shape::Series) {
        let table = rows.table();
        let values: Vec<usize> = (0..table.columns.len()).filter(|p| table.columns[*p].is_value()).collect();
        for row in 0..rows.n_rows() {
            let key =
                |place| rows.str(row, place).map(str::to_owned).or_else(|| Some(rows.i64(row, place)?.to_string()));
            let keys = joined((N_COMMON..N_COMMON + table.n_keys).filter_map(key));
            for place in &values {
                if let Some(value) = rows.f64(row, *place) {
                    tick.put(table, *place, &keys, value);
                }
            }
        }
    }
    tick
}

/// Adds the values in `batch` to the moments that they are of, by microsecond.
pub(super) fn of_batch(table: &'static Table, batch: &RecordBatch, ticks: &mut BTreeMap<i64, Tick>) {
    if table.shape != Shape::Series {
        return;
    }
    let column = |place: usize| batch.column_by_name(table.columns[place].name);
    let Some(times) = column(T).and_then(|c| c.as_primitive_opt::<TimestampMicrosecondType>()) else { return };
    let keys: Vec<_> = (N_COMMON..N_COMMON + table.n_keys).filter_map(column).collect();
    let places = (0..table.columns.len()).filter(|p| table.columns[*p].is_value());
    let values: Vec<_> = places.filter_map(|p| Some((p, column(p)?))).collect();
    for row in (0..batch.num_rows()).filter(|row| times.is_valid(*row)) {
        let t = times.value(row);
        let tick = ticks.entry(t).or_insert_with(|| Tick::new(Micros(t)));
        let keys = joined(keys.iter().filter_map(|key| word(key.as_ref(), row)));
        for (place, array) in &values {
            if let Some(value) = number(array.as_ref(), row) {
                tick.put(table, *place, &keys, value);
            }
        }
    }
}

fn joined(keys: impl Iterator<Item = String>) -> String {
    keys.collect::<Vec<_>>().join(",")
}

fn word(array: &dyn Array, row: usize) -> Option<String> {
    if array.is_null(row) {
        return None;
    }
    if let Some(numbers) = array.as_primitive_opt::<Int64Type>() {
        return Some(numbers.value(row).to_string());
    }
    let labels = array.as_dictionary_opt::<Int32Type>()?;
    let names = labels.values().as_any().downcast_ref::<StringArray>()?;
    Some(names.value(labels.key(row)?).to_owned())
}

fn number(array: &dyn Array, row: usize) -> Option<f64> {
    if array.is_null(row) {
        return None;
    }
    let float = array.as_primitive_opt::<Float64Type>().map(|a| a.value(row));
    let value = float.or_else(|| Some(array.as_primitive_opt::<Int64Type>()?.value(row) as f64));
    value.filter(|v| v.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use fenxi_model::catalog::{cpu, disk, histogram};

    #[test]
    fn values_are_named_alike_in_rows_and_in_batches() {
        let mut rows = Rows::new("h");
        let t = Micros(1_500_000);
        rows.row(&cpu::TABLE, t, 1.0).f64(cpu::usr, 7.5);
        rows.row(&cpu::TABLE, t, 1.0).str(cpu::cpu, "0").f64(cpu::usr, 15.0).f64(cpu::sys, None);
        rows.row(&disk::TABLE, t, 1.0).str(disk::device, "sda").f64(disk::util, 50.0);
        rows.row(&histogram::TABLE, t, 1.0)
            .str(histogram::name, "load_us")
            .f64(histogram::lo, 1.0)
            .f64(histogram::count, 2.0);
        let text = of_rows(t, &rows).text();
        let expected = "{\"t_ms\":1500.0,\"values\":{\"cpu.usr\":7.5,\"cpu.usr[0]\":15.0,\"disk.util[sda]\":50.0}}";
        assert_eq!(text, expected);
        let mut ticks = BTreeMap::new();
        for rows in rows.tables_mut() {
            let table = rows.table();
            of_batch(table, &rows.take().unwrap(), &mut ticks);
        }
        assert_eq!(ticks.values().map(Tick::text).collect::<Vec<_>>(), [expected]);
    }
    #[test]
    fn the_page_of_this_machine_is_given_its_tables_and_the_busiest_processes() {
        let mut rows = Rows::new("h");
        let t = Micros(1_500_000);
        rows.row(&disk::TABLE, t, 1.0).str(disk::device, "sda").f64(disk::util, 50.0);
        rows.row(&cpu::TABLE, t, 1.0).f64(cpu::usr, 7.5);
        for i in 0..40 {
            let comm = format!("p{i:02}");
            rows.row(&process::TABLE, t, 1.0)
                .str(process::comm, comm.as_str())
                .f64(process::cpu, f64::from(i))
                .f64(process::usr, 1.0)
                .f64(process::rss_bytes, 4096.0);
        }
        let mut tick = of_rows(t, &rows);
        tick.keep(&BTreeSet::from([disk::TABLE.name]));
        let names: Vec<&str> = tick.values.keys().map(String::as_str).collect();
        assert_eq!(names.len(), 1 + 2 * MOST_PROCESSES);
        assert!(names.contains(&"disk.util[sda]") && !names.iter().any(|name| name.starts_with("cpu.")), "{names:?}");
        let of = |what: &str| names.iter().any(|name| name.starts_with("process.") && name.contains(what));
        assert!(of("p25") && of("p39") && !of("p24") && !of("usr"), "{names:?}");
    }
}
