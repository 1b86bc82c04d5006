//! Columns under a header line: which column of which table each one is.

use fenxi_model::{AnySchema, Micros, Place, Row, Table, Unit, place::F64};

use super::{Fields, Join, Out, number, scaled};

/// A column that an importer knows.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    header: &'static str,
    target: Option<(&'static Table, usize)>,
    scale: f64,
    offset: f64,
    mean_of: &'static [&'static str],
    /// The unit of its metric, where no table has it.
    metric: Option<&'static str>,
    /// Name of its metric, where it is not the column's.
    name: Option<&'static str>,
    /// Its values count what happened in the interval.
    counted: bool,
}

/// A column that is wanted nowhere.
const NONE: Field =
    Field { header: "", target: None, scale: 1.0, offset: 0.0, mean_of: &[], metric: None, name: None, counted: false };

/// The column headed `header` is column `place` of `table`.
pub const fn col<S: AnySchema>(header: &'static str, table: &'static Table<S>, place: Place<S, F64>) -> Field {
    Field { header, target: Some((table, place.index())), ..NONE }
}

impl Field {
    /// Its values times `scale` are in the table's unit.
    pub const fn times(mut self, scale: f64) -> Field {
        self.scale = scale;
        self
    }

    /// Added to its values after multiplication.
    pub const fn plus(mut self, offset: f64) -> Field {
        self.offset = offset;
        self
    }

    /// Its values count what happened in the interval: they are divided by its length.
    pub const fn counted(mut self, counted: bool) -> Field {
        self.counted = counted;
        self
    }

    /// The number of its column, if that is in `table`.
    pub fn place_in(&self, table: &'static Table) -> Option<usize> {
        self.target.filter(|(t, _)| t.id == table.id).map(|(_, place)| place)
    }

    /// Its values are means over what the columns headed `counts` count: a 0 is NULL where all of
    /// these that the header has are 0 too.
    pub const fn mean_of(mut self, counts: &'static [&'static str]) -> Field {
        self.mean_of = counts;
        self
    }

    /// Title of the column.
    pub const fn header(&self) -> &'static str {
        self.header
    }

    /// The table and the place in it where its values go; None when they are wanted nowhere.
    pub const fn target(&self) -> Option<(&'static Table, usize)> {
        self.target
    }

    /// Factor from the printed unit to the table's.
    pub const fn scale(&self) -> f64 {
        self.scale
    }

    /// Counts whose means its values are, see [`Field::mean_of`].
    pub const fn counts(&self) -> &'static [&'static str] {
        self.mean_of
    }

    /// The column headed `header` is a metric in `unit`: no table has it.
    pub const fn metric(header: &'static str, unit: &'static str) -> Field {
        Field { header, metric: Some(unit), ..NONE }
    }

    /// The unit of the metric that its values become, where they do.
    pub const fn metric_unit(&self) -> Option<&'static str> {
        self.metric
    }

    /// Its metric is called `name`, where there is one.
    pub const fn called(mut self, name: Option<&'static str>) -> Field {
        self.name = name;
        self
    }

    /// The column headed `header` is column `place` of `table`, a column of numbers.
    pub const fn column(header: &'static str, table: &'static Table, place: usize) -> Field {
        Field { header, target: Some((table, place)), ..NONE }
    }

    /// The column headed `header` is known and wanted nowhere, as it follows from others.
    pub const fn skip(header: &'static str) -> Field {
        Field { header, ..NONE }
    }
}

/// Where the values of one header's columns go, made once for each header line.
///
/// A header that occurs twice (`sy` of Solaris' vmstat) takes the known columns of that name in
/// their order. An unknown column goes to `metric` under the format's name and its own, one
/// without a header is dropped.
#[derive(Clone, Debug)]
pub struct Layout {
    columns: usize,
    tables: Vec<(&'static Table, Vec<Target>)>,
    metrics: Vec<Metric>,
    /// Number of known columns.
    known: usize,
}

/// A column that becomes a metric.
#[derive(Clone, Debug)]
struct Metric {
    column: usize,
    name: String,
    scale: f64,
    unit: &'static str,
    /// The column that counts what it is a mean of: without any it has no value.
    count: Option<usize>,
}

impl Metric {
    /// Whether there was nothing to have a mean of.
    fn is_of_none(&self, fields: &Fields<'_>) -> bool {
        self.count.is_some_and(|count| number(fields.get(count)) == Some(0.0))
    }

    fn value(&self, cell: &str) -> Option<f64> {
        let plain = number(cell).or_else(|| number(cell.strip_suffix('%')?)).map(|value| value * self.scale);
        // A suffix is of the base unit, as in columns of tables.
        plain.or_else(|| match self.unit {
            "B" => scaled(cell, 1024.0),
            "CPU" => number(cell.strip_suffix('m')?).map(|thousandths| thousandths / 1e3),
            "" => scaled(cell, prefix_base(self.scale)),
            _ => None,
        })
    }
}

#[derive(Clone, Copy, Debug)]
struct Target {
    column: usize,
    place: usize,
    scale: f64,
    offset: f64,
    unit: Unit,
    /// Up to two columns that count what this one is a mean of; its own where there is none.
    counts: [usize; 2],
    counted: bool,
}

/// The content of a cell.
enum Cell {
    Value(f64),
    /// There is no value.
    Null,
    /// It is no number.
    Bad,
}

impl Target {
    #[inline]
    fn read(&self, fields: &Fields<'_>) -> Cell {
        let cell = fields.get(self.column);
        match number(cell) {
            Some(0.0) if self.counts[0] != self.column && self.counts_are_zero(fields) => Cell::Null,
            Some(value) => Cell::Value(value * self.scale + self.offset),
            None => self.read_unusual(cell),
        }
    }

    #[cold]
    fn read_unusual(&self, cell: &str) -> Cell {
        if missing(cell) {
            return Cell::Null;
        }
        // sysstat 11.5 writes NULs behind its percentages.
        let cell = cell.trim_end_matches('\0');
        // A value with a suffix is in the base unit already, whatever unit the header names.
        let value = match self.unit {
            Unit::Bytes | Unit::BytesPerS => number(cell).map(|v| v * self.scale).or_else(|| scaled(cell, 1024.0)),
            Unit::Percent => match cell.strip_suffix('m') {
                Some(thousandths) => number(thousandths).map(|v| v * self.scale / 1e3),
                None => number(cell.strip_suffix('%').unwrap_or(cell)).map(|v| v * self.scale),
            },
            _ => number(cell).map(|v| v * self.scale).or_else(|| scaled(cell, prefix_base(self.scale))),
        };
        value.map_or(Cell::Bad, |value| Cell::Value(value + self.offset))
    }

    fn counts_are_zero(&self, fields: &Fields<'_>) -> bool {
        self.counts.iter().all(|column| *column == self.column || number(fields.get(*column)) == Some(0.0))
    }
}

impl Layout {
    /// Lays out `headers`, the value columns of a header line, by the columns that are `known`.
    pub fn new<'h>(format: &str, headers: impl Iterator<Item = &'h str>, known: &[Field]) -> Layout {
        let all: Vec<&str> = headers.collect();
        let mut used = vec![false; known.len()];
        let mut layout = Layout::empty();
        for header in &all {
            let column = layout.columns;
            layout.columns += 1;
            let found = known.iter().enumerate().position(|(i, f)| !used[i] && f.header == *header);
            let Some(found) = found else {
                if header.is_empty() {
                    continue;
                }
                layout.metrics.push(Metric {
                    column,
                    name: format!("{format}.{header}"),
                    scale: 1.0,
                    unit: "",
                    count: None,
                });
                continue;
            };
            used[found] = true;
            layout.known += 1;
            if let Some(unit) = known[found].metric {
                let (name, scale) = (known[found].name.unwrap_or(header), known[found].scale);
                let name = format!("{format}.{name}");
                let count = known[found].mean_of.iter().find_map(|name| all.iter().position(|h| h == name));
                layout.metrics.push(Metric { column, name, scale, unit, count });
            }
            let Some((table, place)) = known[found].target else { continue };
            let mut counts = [column; 2];
            let counting = known[found].mean_of.iter().filter_map(|name| all.iter().position(|h| h == name));
            counts.iter_mut().zip(counting).for_each(|(count, place)| *count = place);
            let (scale, offset) = (known[found].scale, known[found].offset);
            let target = Target {
                column,
                place,
                scale,
                offset,
                unit: table.columns[place].unit,
                counts,
                counted: known[found].counted,
            };
            match layout.tables.iter_mut().find(|(t, _)| t.id == table.id) {
                Some((_, targets)) => targets.push(target),
                None => layout.tables.push((table, vec![target])),
            }
        }
        layout
    }

    /// No column.
    pub fn empty() -> Layout {
        Layout { columns: 0, tables: Vec::new(), metrics: Vec::new(), known: 0 }
    }

    /// Number of columns of the header.
    pub fn len(&self) -> usize {
        self.columns
    }

    /// Returns true if the header has no column.
    pub fn is_empty(&self) -> bool {
        self.columns == 0
    }

    /// Number of known columns.
    pub fn known(&self) -> usize {
        self.known
    }

    /// Adds one row to each table that has columns here.
    ///
    /// `keys` sets the key columns of each; `labels` does the same for metrics, as `key=value`
    /// joined by commas. `-` and `N/A` are NULL; another cell that is no number, and a line with
    /// another number of cells, becomes a note on line `number`.
    pub fn write(
        &self,
        out: &mut Out<'_>,
        line: u64,
        (t, dt): (Micros, Option<f64>),
        fields: &Fields<'_>,
        keys: impl Fn(&'static Table, &mut Row<'_>),
        labels: impl Fn() -> String,
    ) {
        if !self.fits(out, line, fields) {
            return;
        }
        let mut bad = None;
        for (table, targets) in &self.tables {
            let mut row = out.row(table, t, dt);
            keys(table, &mut row);
            for target in targets {
                match target.read(fields) {
                    Cell::Value(value) if !target.counted => {
                        row.f64(target.place, value);
                    }
                    Cell::Value(count) => {
                        row.f64(target.place, dt.filter(|dt| *dt > 0.0).map(|dt| count / dt));
                    }
                    Cell::Null => {}
                    Cell::Bad => bad = Some(target.column),
                }
            }
        }
        if let Some(column) = bad {
            out.no_number(line, fields.get(column), column);
        }
        if !self.metrics.is_empty() {
            self.write_metrics(out, line, (t, dt), fields, &labels());
        }
    }

    /// As [`Layout::write`], from numbers that are parsed already: one for each column, NaN for NULL.
    pub fn fill(&self, out: &mut Out<'_>, (t, dt): (Micros, Option<f64>), values: &[f64]) {
        let value = |column: usize| values.get(column).copied().filter(|v| !v.is_nan());
        for (table, targets) in &self.tables {
            let mut row = out.row(table, t, dt);
            for target in targets {
                row.f64(target.place, value(target.column).map(|v| v * target.scale + target.offset));
            }
        }
        for metric in &self.metrics {
            if let Some(value) = value(metric.column) {
                out.metric(t, dt, &metric.name, "", value * metric.scale, metric.unit);
            }
        }
    }

    /// As [`Layout::write`], into a table whose rows are gathered from several sections. Columns of
    /// other tables are left out.
    pub fn join<S: ?Sized>(
        &self,
        out: &mut Out<'_>,
        line: u64,
        (t, dt): (Micros, Option<f64>),
        fields: &Fields<'_>,
        key: &str,
        join: &mut Join<S>,
    ) {
        if !self.fits(out, line, fields) {
            return;
        }
        for target in self.tables.iter().flat_map(|(_, targets)| targets) {
            match target.read(fields) {
                Cell::Value(value) => join.set_column(out, (t, dt), key, target.place, Some(value)),
                Cell::Null => join.set_column(out, (t, dt), key, target.place, None),
                Cell::Bad => {
                    out.no_number(line, fields.get(target.column), target.column);
                }
            }
        }
        self.write_metrics(out, line, (t, dt), fields, &join.label(key));
    }

    /// Gives each number that goes into `table`, with the place of its column: for sums and means
    /// over several lines.
    pub fn each(&self, table: &'static Table, fields: &Fields<'_>, mut take: impl FnMut(usize, f64)) {
        let targets = self.tables.iter().filter(|(t, _)| t.id == table.id).flat_map(|(_, targets)| targets);
        for target in targets {
            if let Cell::Value(value) = target.read(fields) {
                take(target.place, value);
            }
        }
    }

    /// Whether a line has as many values as the header has columns; one that has not is noted.
    fn fits(&self, out: &mut Out<'_>, line: u64, fields: &Fields<'_>) -> bool {
        let fits = fields.len() == self.columns;
        if !fits {
            out.wrong_count(line, fields.rest(0), fields.len(), self.columns);
        }
        fits
    }

    fn write_metrics(
        &self,
        out: &mut Out<'_>,
        line: u64,
        (t, dt): (Micros, Option<f64>),
        fields: &Fields<'_>,
        labels: &str,
    ) {
        for metric in self.metrics.iter().filter(|metric| !metric.is_of_none(fields)) {
            let cell = fields.get(metric.column);
            match metric.value(cell) {
                Some(value) => out.metric(t, dt, &metric.name, labels, value, metric.unit),
                None if missing(cell) => {}
                None => out.no_number(line, cell, metric.column),
            }
        }
    }
}

/// The factor of a `k` behind a number, where a 1 without it is worth `scale`.
fn prefix_base(scale: f64) -> f64 {
    if scale > 1.0 { 1024.0 } else { 1000.0 }
}

/// Whether a cell marks a missing value.
fn missing(cell: &str) -> bool {
    matches!(cell, "" | "<unknown>" | "-" | "--" | "N/A" | "n/a" | "nan" | "-nan" | "NaN" | "?")
}
