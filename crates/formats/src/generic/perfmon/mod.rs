//! Performance counters of Windows as CSV: `typeperf`, `logman`, `relog -f CSV`, Performance Monitor; and `esxtop -b` of
//! ESXi, which writes the same form.
//!
//! A column is a counter, `\\HOST\Object(Instance)\Counter`. What means the same as a column of a table goes there; all
//! else is a metric, called `perfmon.Object.Counter`. Names are those of an English system: those of others become
//! metrics. Times are the local ones, and the titles say how far they are from UTC; typeperf does not say it. The first row
//! of a log has no rates.

mod known;

use fenxi_model::{
    Micros, Table,
    catalog::{N_COMMON, cpu, process},
};
use rustc_hash::FxHashMap;

use self::known::{Make, find, unit};
use super::{csv as csv_table, labels::Labels};
use crate::{Clock, Family, Format, Head, Input, Out, Sure, civil_date, civil_time, number};

/// Importer for performance counters of Windows as CSV or TSV (typeperf, logman, relog), and esxtop -b.
pub static FORMAT: Format = Format {
    name: "perfmon",
    summary: "performance counters of Windows as CSV or TSV (typeperf, logman, relog), and esxtop -b",
    family: Family::Generic,
    tables: known::TABLES,
    example: "\
\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\DB1\\Processor(_Total)\\% User Time\",\"\\\\DB1\\Memory\\Available Bytes\"
\"11/21/2026 14:35:53.123\",\"12.5\",\"8123456789\"
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    let text = head.text.trim_start();
    Sure::Certain.when(text.starts_with("\"(PDH-CSV") || text.starts_with("\"(PDH-TSV"))
}

/// Where a counter is: the host, the object, its instance and the counter's name.
#[derive(Debug, PartialEq)]
struct Path<'t> {
    host: &'t str,
    object: &'t str,
    instance: &'t str,
    counter: &'t str,
}

impl<'t> Path<'t> {
    fn of(title: &'t str) -> Option<Path<'t>> {
        let (host, rest) = title.strip_prefix("\\\\")?.split_once('\\')?;
        let (object, counter) = rest.rsplit_once('\\')?;
        let (object, instance) = match object.split_once('(') {
            Some((name, instance)) => (name, instance.strip_suffix(')')?),
            None => (object, ""),
        };
        Some(Path { host, object, instance, counter }).filter(|path| !path.object.is_empty() && !path.host.is_empty())
    }

    /// The key of the row that the counter belongs to.
    fn key(&self) -> &'t str {
        match self.object {
            "Processor" | "Processor Information" => match self.instance {
                "_Total" => "",
                // The number within the NUMA node: that of the CPU where there is one node.
                instance => instance.strip_prefix("0,").unwrap_or(instance),
            },
            _ => self.instance,
        }
    }
}

/// A column of a row, and where its figure comes from.
struct Cell {
    column: usize,
    place: usize,
    make: Make,
    /// Columns that are taken away from it.
    without: Vec<usize>,
}

/// A row of a table.
struct Group {
    host: String,
    table: &'static Table,
    key: String,
    cells: Vec<Cell>,
    /// The column with the number of the process.
    pid: Option<usize>,
}

/// A counter that is a metric.
struct Metric {
    column: usize,
    host: String,
    name: String,
    labels: String,
    unit: &'static str,
}

/// Columns assigned to rows and metrics.
#[derive(Default)]
struct Plan {
    groups: Vec<Group>,
    /// Where the group of a host, a table and a key is.
    places: FxHashMap<(String, &'static str, String), usize>,
    metrics: Vec<Metric>,
    columns: usize,
}

impl Plan {
    fn new<'t>(titles: impl Iterator<Item = &'t str>) -> Plan {
        let mut plan = Plan::default();
        let paths: Vec<(usize, Path<'_>)> =
            titles.enumerate().filter_map(|(column, title)| Some((column, Path::of(title)?))).collect();
        for (column, path) in &paths {
            plan.columns = plan.columns.max(column + 1);
            plan.add(*column, path, &paths);
        }
        plan
    }

    fn add(&mut self, column: usize, path: &Path<'_>, all: &[(usize, Path<'_>)]) {
        if path.object == "Process" && path.counter == "ID Process" && !matches!(path.instance, "_Total" | "Idle") {
            self.group(path, &process::TABLE).pid = Some(column);
            return;
        }
        if let Some(without) = interrupts(path, all) {
            let cell = Cell { column, place: cpu::sys.index(), make: Make::Times(1.0), without };
            self.group(path, &cpu::TABLE).cells.push(cell);
            return;
        }
        match find(path.object, path.instance, path.counter) {
            Some(known) => {
                let cell = Cell { column, place: known.place, make: known.make, without: Vec::new() };
                let group = self.group(path, known.table);
                // A measured value wins over a complement.
                match group.cells.iter_mut().find(|other| other.place == cell.place) {
                    Some(other) => {
                        let left =
                            if cell.make == Make::Complement { column } else { std::mem::replace(other, cell).column };
                        // Two counters of the same are measured apart, and differ.
                        if let Some((column, path)) = all.iter().find(|(column, _)| *column == left) {
                            self.metric(*column, path);
                        }
                    }
                    None => group.cells.push(cell),
                }
            }
            None => self.metric(column, path),
        }
    }

    fn metric(&mut self, column: usize, path: &Path<'_>) {
        self.metrics.push(Metric {
            column,
            host: path.host.to_owned(),
            name: format!("perfmon.{}.{}", path.object, path.counter),
            labels: Labels::of("instance", path.instance).text().to_owned(),
            unit: unit(path.counter),
        });
    }

    fn group(&mut self, path: &Path<'_>, table: &'static Table) -> &mut Group {
        let (host, key) = (path.host.to_owned(), path.key().to_owned());
        let at = *self.places.entry((host.clone(), table.name, key.clone())).or_insert(self.groups.len());
        if at == self.groups.len() {
            self.groups.push(Group { host, table, key, cells: Vec::new(), pid: None });
        }
        &mut self.groups[at]
    }

    /// Writes one row of the text.
    fn write(&self, record: &csv::ByteRecord, line: u64, (t, dt): (Micros, Option<f64>), out: &mut Out<'_>) {
        let mut bad = None;
        let mut host = "";
        let mut value = |column: usize| {
            let cell = record.get(column).map_or("", |cell| std::str::from_utf8(cell).unwrap_or("?").trim());
            // The first row has no rates; typeperf prints -1 for a counter that failed.
            let value = number(cell).filter(|_| cell != "-1");
            if value.is_none() && !cell.is_empty() && cell != "-1" {
                bad.get_or_insert_with(|| (column, cell.to_owned()));
            }
            value
        };
        for group in &self.groups {
            let values: Vec<(usize, f64)> = group.cells.iter().filter_map(|cell| cell.value(&mut value)).collect();
            if values.is_empty() {
                continue;
            }
            if group.host != host {
                host = &group.host;
                out.set_host(host);
            }
            let mut row = out.row(group.table, t, dt);
            if group.table.id == process::TABLE.id {
                row.str(process::comm.index(), &*group.key);
                row.i64(process::pid.index(), group.pid.and_then(&mut value).map(|pid| pid as i64));
            } else if !group.table.keys().is_empty() {
                row.str(N_COMMON, Some(&*group.key).filter(|key| !key.is_empty()));
            }
            for (place, value) in values {
                row.f64(place, value);
            }
        }
        for metric in &self.metrics {
            let Some(value) = value(metric.column) else { continue };
            if metric.host != host {
                host = &metric.host;
                out.set_host(host);
            }
            out.metric(t, dt, &metric.name, &metric.labels, value, metric.unit);
        }
        if let Some((column, cell)) = bad {
            out.no_number(line, &cell, column);
        }
    }
}

impl Cell {
    /// The figure of the column, with its place.
    fn value(&self, of: &mut impl FnMut(usize) -> Option<f64>) -> Option<(usize, f64)> {
        let mut value = of(self.column)?;
        for column in &self.without {
            value -= of(*column)?;
        }
        Some((
            self.place,
            match self.make {
                Make::Times(factor) if self.without.is_empty() => value * factor,
                // The parts are rounded.
                Make::Times(factor) => (value * factor).max(0.0),
                Make::Complement => (100.0 - value).max(0.0),
            },
        ))
    }
}

/// Columns to subtract from the time in the kernel: interrupts and deferred procedure calls of the same CPU. None
/// for any other counter, and where the two are not there.
fn interrupts(path: &Path<'_>, all: &[(usize, Path<'_>)]) -> Option<Vec<usize>> {
    if !path.object.starts_with("Processor") || path.counter != "% Privileged Time" {
        return None;
    }
    let of = |counter: &str| {
        let same = |p: &Path<'_>| (p.host, p.object, p.instance) == (path.host, path.object, path.instance);
        all.iter().find(|(_, p)| p.counter == counter && same(p)).map(|(column, _)| *column)
    };
    Some(vec![of("% Interrupt Time")?, of("% DPC Time")?])
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    // The columns are given.
    if out.hints().mapping.is_some() {
        return (csv_table::FORMAT.read)(input, out);
    }
    let tabs = input.head().trim_start().starts_with("\"(PDH-TSV");
    let mut builder = csv::ReaderBuilder::new();
    builder.delimiter(if tabs { b'\t' } else { b',' }).has_headers(false).flexible(true);
    let mut reader = builder.from_reader(input.bytes());
    let mut clock = Clock::new(out.hints());
    let mut plan = Plan::default();
    let mut last: Option<Micros> = None;
    let mut record = csv::ByteRecord::new();
    // An error of the reader ends the input and is kept there.
    while let Ok(true) = reader.read_byte_record(&mut record) {
        let line = record.position().map_or(0, csv::Position::line);
        let first = String::from_utf8_lossy(record.get(0).unwrap_or_default()).trim().to_owned();
        if first.starts_with("(PDH-") {
            if let Some(zone) = csv_table::perfmon_zone(&first) {
                clock.set_zone(zone);
            }
            let titles: Vec<_> = record.iter().map(String::from_utf8_lossy).collect();
            plan = Plan::new(titles.iter().map(|title| title.trim()));
            if plan.groups.is_empty() {
                out.assume("counters are only metrics, as no name is one of an English Windows or of ESXi");
            }
            last = None;
            continue;
        }
        let when = first
            .split_once(' ')
            .and_then(|(date, time)| Some(civil_date(date)?.to_datetime(civil_time(time.trim(), None)?)));
        let Some(when) = when else {
            // The last line of typeperf.
            if !first.starts_with("Exiting") && !first.starts_with("The command completed") {
                out.unknown(line, &first, "no date and time at the beginning of the row");
            }
            continue;
        };
        if record.len() < plan.columns {
            out.wrong_count(line, &first, record.len(), plan.columns);
            continue;
        }
        let t = clock.moment(when);
        let dt = last.replace(t).map(|last| t.seconds_since(last)).filter(|dt| *dt > 0.0).or(out.hints().interval_s);
        plan.write(&record, line, (t, dt), out);
    }
}

#[cfg(test)]
mod tests {
    use super::{FORMAT, Path};
    use crate::fixtures::read;

    #[test]
    fn paths_are_cut_at_their_ends() {
        let path = |title| Path::of(title).map(|p| (p.host, p.object, p.instance, p.counter));
        assert_eq!(path("\\\\a\\Memory\\Available Bytes"), Some(("a", "Memory", "", "Available Bytes")));
        assert_eq!(
            path("\\\\a\\Paging File(\\??\\C:\\p.sys)\\% Usage"),
            Some(("a", "Paging File", "\\??\\C:\\p.sys", "% Usage"))
        );
        assert_eq!(path("\\\\a\\Group Cpu(1:vm (old))\\% Used"), Some(("a", "Group Cpu", "1:vm (old)", "% Used")));
        assert_eq!(path("a"), None);
    }

    #[test]
    fn the_kernels_time_is_without_interrupts_and_the_zone_is_that_of_the_titles() {
        let titles = ["% Privileged Time", "% Interrupt Time", "% DPC Time", "% Processor Time"]
            .map(|counter| format!(",\"\\\\A\\Processor(_Total)\\{counter}\""))
            .concat();
        let text = format!(
            "\"(PDH-CSV 4.0) (W. Europe Standard Time)(-60)\"{titles}\n\"11/21/2026 10:00:00.000\",\" \",\" \",\" \",\" \"\n\"11/21/2026 10:00:05.000\",\"9.5\",\"1\",\"0.5\",\"30\"\n"
        );
        let read = read(&FORMAT, text.as_bytes());
        let expected =
            "# cpu\nt\tdt\thost\tsys\tirq\tsoftirq\tidle\n2026-11-21T09:00:05.000000Z\t5\tA\t8\t1\t0.5\t70\n";
        assert_eq!(read.text, expected);
    }
}
