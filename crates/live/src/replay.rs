//! Replay of a recorded run as if it were sampled live.

use std::ops::ControlFlow;

use arrow_array::{
    Array, RecordBatch,
    cast::AsArray,
    types::{Float64Type, Int32Type, Int64Type, TimestampMicrosecondType},
};
use fenxi_model::{
    Micros, Row, Rows, RunId, Table, Type,
    catalog::{DT, HOST, T},
};
use fenxi_store::{BOOT, Store, StoreError};

use crate::Frame;

/// Why a run cannot be shown.
#[derive(Debug)]
pub enum ReplayError {
    /// It cannot be read.
    Store(StoreError),
    /// Its rows are of several hosts, and none of these was chosen, or none of the chosen name.
    Hosts(Vec<String>),
    /// It has no row of the tables that are to be shown.
    Nothing,
}

impl std::error::Error for ReplayError {}

impl std::fmt::Display for ReplayError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ReplayError::Store(error) => error.fmt(f),
            ReplayError::Hosts(hosts) => write!(f, "the run has rows of {}: choose one with --host", hosts.join(", ")),
            ReplayError::Nothing => f.write_str("the run has no data for this tool"),
        }
    }
}

impl From<StoreError> for ReplayError {
    fn from(error: StoreError) -> ReplayError {
        ReplayError::Store(error)
    }
}

/// One table of the run, its columns laid out.
struct Part {
    table: &'static Table,
    batch: RecordBatch,
    /// Place in the table of each column of the batch.
    places: Vec<usize>,
}

/// Shows the rows of `tables` of `run`, one frame for each moment in order, the averages since boot
/// first; until `show` breaks. `host` chooses one of several hosts.
///
/// # Errors
/// See [`ReplayError`].
pub fn replay(
    store: &Store,
    run: &RunId,
    tables: &[&'static Table],
    host: Option<&str>,
    show: &mut dyn FnMut(&Frame<'_>) -> ControlFlow<()>,
) -> Result<(), ReplayError> {
    let boot = parts(store, run, tables, |table| format!("{BOOT}.{table}"))?;
    let samples = parts(store, run, tables, str::to_owned)?;
    let host = choose_host(boot.iter().chain(&samples), host)?;
    if frames(&boot, &host, true, show).is_continue() {
        let _ = frames(&samples, &host, false, show);
    }
    Ok(())
}

fn parts(
    store: &Store,
    run: &RunId,
    tables: &[&'static Table],
    name: impl Fn(&str) -> String,
) -> Result<Vec<Part>, ReplayError> {
    let mut parts = Vec::new();
    for table in tables {
        for batch in store.read(run, &name(table.name))? {
            let places =
                batch.schema().fields().iter().map(|f| table.index_of(f.name()).unwrap_or(usize::MAX)).collect();
            parts.push(Part { table, batch, places });
        }
    }
    Ok(parts)
}

fn choose_host<'p>(parts: impl Iterator<Item = &'p Part>, wanted: Option<&str>) -> Result<String, ReplayError> {
    let mut hosts = std::collections::BTreeSet::new();
    for part in parts {
        for row in 0..part.batch.num_rows() {
            if let Some(host) = part.label(HOST, row)
                && !hosts.contains(host)
            {
                hosts.insert(host.to_owned());
            }
        }
    }
    match wanted {
        Some(wanted) if hosts.contains(wanted) => Ok(wanted.to_owned()),
        None if hosts.len() == 1 => Ok(hosts.pop_first().unwrap_or_default()),
        _ if hosts.is_empty() => Err(ReplayError::Nothing),
        _ => Err(ReplayError::Hosts(hosts.into_iter().collect())),
    }
}

/// Shows what `host` has in `parts`, moment by moment.
fn frames(
    parts: &[Part],
    host: &str,
    since_boot: bool,
    show: &mut dyn FnMut(&Frame<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let mut order: Vec<(i64, u32, u32)> = Vec::new();
    for (i, part) in parts.iter().enumerate() {
        for row in 0..part.batch.num_rows() {
            if part.label(HOST, row) == Some(host)
                && let Some(t) = part.moment(row)
            {
                order.push((t, i as u32, row as u32));
            }
        }
    }
    // Files are sorted by key and time: the order of keys within a moment stays as it is.
    order.sort_by_key(|(t, _, _)| *t);
    let mut rows = Rows::new(host);
    for moment in order.chunk_by(|a, b| a.0 == b.0) {
        rows.clear();
        let mut dt = 0.0_f64;
        for (_, part, row) in moment {
            let part = &parts[*part as usize];
            let own = part.number(DT, *row as usize);
            dt = dt.max(own.unwrap_or(0.0));
            part.fill(*row as usize, rows.row(part.table, Micros(moment[0].0), own));
        }
        show(&Frame { t: Micros(moment[0].0), dt, since_boot, rows: &rows })?;
    }
    ControlFlow::Continue(())
}

impl Part {
    fn column(&self, place: usize) -> Option<&dyn Array> {
        let at = self.places.iter().position(|p| *p == place)?;
        Some(self.batch.column(at))
    }

    fn moment(&self, row: usize) -> Option<i64> {
        let times = self.column(T)?.as_primitive::<TimestampMicrosecondType>();
        times.is_valid(row).then(|| times.value(row))
    }

    fn number(&self, place: usize, row: usize) -> Option<f64> {
        let values = self.column(place)?.as_primitive::<Float64Type>();
        values.is_valid(row).then(|| values.value(row))
    }

    fn label(&self, place: usize, row: usize) -> Option<&str> {
        let labels = self.column(place)?.as_dictionary::<Int32Type>();
        let key = labels.key(row)?;
        Some(labels.values().as_string::<i32>().value(key))
    }

    /// Sets everything but when and where.
    fn fill(&self, row: usize, mut into: Row<'_>) {
        for (at, place) in self.places.iter().copied().enumerate() {
            let array = self.batch.column(at);
            if place <= HOST || place == usize::MAX || array.is_null(row) {
                continue;
            }
            match self.table.columns[place].ty {
                Type::F64 => into.f64(place, array.as_primitive::<Float64Type>().value(row)),
                Type::I64 => into.i64(place, array.as_primitive::<Int64Type>().value(row)),
                Type::Time => into.time(place, Micros(array.as_primitive::<TimestampMicrosecondType>().value(row))),
                Type::Text => into.text(place, array.as_string::<i32>().value(row)),
                Type::Label => into.str(place, self.label(place, row)),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use fenxi_model::catalog::{cpu, sched};
    use fenxi_store::{Begin, End};

    use super::*;

    #[test]
    fn a_run_is_shown_moment_by_moment_as_it_was_sampled() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(dir.path()).unwrap();
        let begin = Begin {
            name: None,
            kind: "record".to_owned(),
            host: "h".to_owned(),
            command: Vec::new(),
            params: BTreeMap::new(),
            tags: BTreeMap::new(),
            start: Micros(0),
            interval_s: None,
            random: 1,
            sources: Vec::new(),
        };
        let end = End { ticks: 2, ..End::at(Micros(20)) };
        let mut open = store.begin(begin).unwrap();
        let mut rows = Rows::new("h");
        rows.row(&cpu::TABLE, Micros(5), 99.0).f64(cpu::usr, 1.5);
        open.append_apart(BOOT, &mut rows).unwrap();
        for t in [10, 20] {
            for name in ["0", "1"] {
                rows.row(&cpu::TABLE, Micros(t), 2.0).str(cpu::cpu, name).f64(cpu::usr, t as f64);
            }
            rows.row(&sched::TABLE, Micros(t), 2.5).f64(sched::runnable, 3.0);
            open.append(&mut rows).unwrap();
        }
        let run = open.seal(end).unwrap();
        let mut seen = Vec::new();
        let mut show = |frame: &Frame<'_>| {
            let cpu = frame.rows.of(&cpu::TABLE).unwrap();
            let names: Vec<_> = (0..cpu.n_rows()).map(|r| cpu.str(r, cpu::cpu).map(str::to_owned)).collect();
            seen.push((frame.t.0, frame.dt, frame.since_boot, names, cpu.f64(0, cpu::usr), frame.rows.len()));
            ControlFlow::Continue(())
        };
        replay(&store, &run, &[&cpu::TABLE, &sched::TABLE], None, &mut show).unwrap();
        let both = vec![Some("0".to_owned()), Some("1".to_owned())];
        assert_eq!(
            seen,
            [
                (5, 99.0, true, vec![None], Some(1.5), 1),
                (10, 2.5, false, both.clone(), Some(10.0), 3),
                (20, 2.5, false, both, Some(20.0), 3)
            ]
        );
        let of = |tables: &[&'static Table], host| {
            replay(&store, &run, tables, host, &mut |_| ControlFlow::Continue(())).unwrap_err().to_string()
        };
        assert_eq!(of(&[&fenxi_model::catalog::net::TABLE], None), "the run has no data for this tool");
        assert_eq!(of(&[&cpu::TABLE], Some("x")), "the run has rows of h: choose one with --host");
    }
}
