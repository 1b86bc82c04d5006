//! Answers: columns with their units, and rows as Arrow batches.

use arrow_array::{Array, RecordBatch, cast::AsArray};
use arrow_schema::{DataType, SchemaRef};
use fenxi_model::{TABLES, Unit, number_at, text_at};
use fenxi_worker::Cell;

/// A value bound to a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// A text.
    Text(String),
}

impl From<&Value> for Cell {
    fn from(value: &Value) -> Cell {
        match value {
            Value::Int(v) => Cell::Int(*v),
            Value::Float(v) => Cell::Float(*v),
            Value::Text(v) => Cell::Text(v.clone()),
        }
    }
}

/// One column of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerColumn {
    /// Its name, as the SQL calls it.
    pub name: String,
    /// Its Arrow type.
    pub ty: DataType,
    /// Its unit by its name, [`Unit::None`] otherwise.
    pub unit: Unit,
}

/// The rows that answer a query.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The columns, in order.
    pub columns: Vec<AnswerColumn>,
    /// The Arrow schema of the batches.
    pub schema: SchemaRef,
    /// The rows.
    pub batches: Vec<RecordBatch>,
}

impl Answer {
    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// Its first `n` rows.
    #[must_use]
    pub fn head(mut self, mut n: usize) -> Answer {
        for batch in &mut self.batches {
            let part = n.min(batch.num_rows());
            *batch = batch.slice(0, part);
            n -= part;
        }
        self
    }

    /// The place of the column called `name`.
    pub fn index_of(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name == name)
    }

    /// A column as numbers, None for NULL; empty when there is no such column or it holds no numbers.
    pub fn f64s(&self, name: &str) -> Vec<Option<f64>> {
        let Some(place) = self.index_of(name) else { return Vec::new() };
        let mut out = Vec::with_capacity(self.n_rows());
        for batch in &self.batches {
            let column = batch.column(place).as_ref();
            if !holds_numbers(column.data_type()) {
                return Vec::new();
            }
            out.extend((0..column.len()).map(|row| number(column, row)));
        }
        out
    }

    /// A column of lists of numbers, empty for NULL; empty when there is no such column or it holds no such lists.
    pub fn lists(&self, name: &str) -> Vec<Vec<Option<f64>>> {
        let Some(place) = self.index_of(name) else { return Vec::new() };
        let mut out = Vec::with_capacity(self.n_rows());
        for batch in &self.batches {
            let Some(lists) = batch.column(place).as_list_opt::<i32>() else { return Vec::new() };
            let values = lists.values().as_ref();
            if !holds_numbers(values.data_type()) {
                return Vec::new();
            }
            let offsets = lists.value_offsets().windows(2);
            out.extend(offsets.map(|o| (o[0]..o[1]).map(|row| number(values, row as usize)).collect::<Vec<_>>()));
        }
        out
    }

    /// A column as text, None for NULL; empty when there is no such column. Times are in UTC.
    pub fn strings(&self, name: &str) -> Vec<Option<String>> {
        let Some(place) = self.index_of(name) else { return Vec::new() };
        let mut out = Vec::with_capacity(self.n_rows());
        for batch in &self.batches {
            let column = batch.column(place);
            // A time without a zone is in UTC as well.
            let utc = if matches!(column.data_type(), DataType::Timestamp(_, None)) { "Z" } else { "" };
            out.extend(crate::render::texts(column.as_ref()).into_iter().map(|text| Some(text? + utc)));
        }
        out
    }

    /// The answer without those of the columns `names` that hold one and the same value in every row
    /// (`run` and `host` say nothing in an answer about one run of one host).
    #[must_use]
    pub fn without_constant(mut self, names: &[&str]) -> Answer {
        for name in names {
            let values = self.strings(name);
            let constant = values.windows(2).all(|w| w[0] == w[1]);
            if let (true, Some(place), true) = (constant, self.index_of(name), self.columns.len() > 1) {
                let keep: Vec<usize> = (0..self.columns.len()).filter(|i| *i != place).collect();
                let schema = self.schema.project(&keep);
                let batches: Result<Vec<_>, _> = self.batches.iter().map(|b| b.project(&keep)).collect();
                if let (Ok(schema), Ok(batches)) = (schema, batches) {
                    self.columns.remove(place);
                    (self.schema, self.batches) = (schema.into(), batches);
                }
            }
        }
        self
    }
}

/// Whether there are numbers in a column of this type, be it as text.
fn holds_numbers(ty: &DataType) -> bool {
    match ty {
        DataType::Dictionary(_, values) => holds_numbers(values),
        DataType::Boolean | DataType::Null | DataType::Timestamp(..) | DataType::Duration(_) => true,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        ty => ty.is_numeric(),
    }
}

fn number(column: &dyn Array, row: usize) -> Option<f64> {
    number_at(column, row).or_else(|| text_at(column, row)?.parse().ok())
}

/// Describes the columns of `schema`, whose units come from the catalogue by name.
pub(crate) fn columns_of(schema: &SchemaRef) -> Vec<AnswerColumn> {
    let column = |f: &arrow_schema::FieldRef| AnswerColumn {
        name: f.name().clone(),
        ty: f.data_type().clone(),
        unit: if f.data_type().is_numeric() { unit_of(f.name()) } else { Unit::None },
    };
    schema.fields().iter().map(column).collect()
}

/// The unit by a column's name: its suffix, else the catalogue's column of this name.
///
/// A call such as `avg(usr)` has the unit of what it is called on, unless it counts.
fn unit_of(name: &str) -> Unit {
    let inner = match name.split_once('(') {
        Some((f, _)) if f.starts_with("count") || f.starts_with("stddev") || f.starts_with("var") => return Unit::None,
        Some((_, rest)) => rest.trim_end_matches(')'),
        None => name,
    };
    const SUFFIXES: [(&str, Unit); 14] = [
        ("_bytes_per_s", Unit::BytesPerS),
        ("_per_s", Unit::PerS),
        ("_bytes", Unit::Bytes),
        ("_ms", Unit::Milliseconds),
        ("_us", Unit::Microseconds),
        ("_mbps", Unit::MegabitsPerS),
        ("_hz", Unit::Hertz),
        ("_w", Unit::Watts),
        ("_c", Unit::Celsius),
        ("_pct", Unit::Percent),
        ("_s", Unit::Seconds),
        ("util", Unit::Percent),
        ("busy", Unit::Percent),
        ("cpu_time_s", Unit::Seconds),
    ];
    if let Some((_, unit)) = SUFFIXES.into_iter().find(|(suffix, _)| inner.ends_with(suffix)) {
        return unit;
    }
    // Only where all tables that have such a column agree on its unit.
    let mut units = TABLES.iter().filter_map(|t| t.index_of(inner).map(|i| t.columns[i].unit));
    match units.next() {
        Some(first) if units.all(|u| u == first) => first,
        _ => Unit::None,
    }
}
