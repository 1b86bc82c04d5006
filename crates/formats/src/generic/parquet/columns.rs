//! Role of each column of a Parquet file.

use std::borrow::Cow;

use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema, TimeUnit};

use crate::generic::labels::Labels;

/// A column that is read.
#[derive(Debug, PartialEq)]
pub struct Column {
    /// Its place in the file.
    pub place: usize,
    /// Role of the column.
    pub kind: Kind,
    /// The metric's name, or the label's.
    pub name: String,
    /// Labels that its metadata has: `key=value`, joined by commas.
    pub labels: String,
    /// Its unit; of a counter that of its rate.
    pub unit: String,
}

/// Role of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// The moment of a row, in so many parts of a second since 1970.
    Time { per_second: f64 },
    /// A text beside the numbers.
    Label,
    /// A number as it is.
    Gauge,
    /// A number that only grows, of which the rate is of interest.
    Counter,
}

/// Columns of a file that are read.
#[derive(Debug, Default, PartialEq)]
pub struct Columns {
    /// The columns.
    pub columns: Vec<Column>,
    /// Columns that are not read, with the reason.
    pub unread: Vec<String>,
}

/// Names of a column of integers that are times.
const TIMES: [&str; 6] = ["timestamp", "time", "ts", "t", "timestamp_ns", "timestamp_ms"];
/// Metadata that are no labels.
const NO_LABELS: [&str; 9] =
    ["metric", "metric_type", "unit", "description", "help", "sampler", "grouping_power", "max_value_power", "comment"];

/// Decides what is read.
///
/// # Errors
/// When there is no column of times.
pub fn plan(schema: &Schema) -> Result<Columns, String> {
    let mut found = Columns::default();
    let mut others: Vec<String> = Vec::new();
    let mut has_time = false;
    for (place, field) in schema.fields().iter().enumerate() {
        let about = field.metadata();
        let says = |key: &str| about.get(key).map(String::as_str);
        let kind = match (field.data_type(), says("metric_type")) {
            (DataType::Timestamp(unit, _), _) if !has_time => Kind::Time { per_second: per_second(*unit) },
            (kind, Some("timestamp")) if !has_time && kind.is_integer() => Kind::Time { per_second: 1e9 },
            (kind, _) if !has_time && kind.is_integer() && TIMES.contains(&field.name().as_str()) => {
                Kind::Time { per_second: declared(field.name(), says("unit")) }
            }
            // How long Rezolus took to read all metrics, and when it read the one beside it.
            (_, Some("duration")) => continue,
            _ if field.name().ends_with(":window_begin") || field.name().ends_with(":window_width") => continue,
            (kind, Some("counter")) if kind.is_numeric() => Kind::Counter,
            (kind, _) if kind.is_numeric() => Kind::Gauge,
            (DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Boolean, _) => Kind::Label,
            (DataType::Dictionary(_, values), _) if matches!(**values, DataType::Utf8 | DataType::LargeUtf8) => {
                Kind::Label
            }
            _ => {
                others.push(field.name().clone());
                continue;
            }
        };
        has_time |= matches!(kind, Kind::Time { .. });
        let unit = says("unit").unwrap_or_default();
        let unit = if kind == Kind::Counter { format!("{unit}/s") } else { unit.to_owned() };
        let name = says("metric").filter(|_| kind != Kind::Label).unwrap_or(field.name()).to_owned();
        found.columns.push(Column { place, kind, name, labels: labels(field), unit });
    }
    if !has_time {
        return Err(
            "it has no column of times: one of the type timestamp, or whole numbers called `timestamp`, `time` or `ts`"
                .to_owned(),
        );
    }
    if !others.is_empty() {
        let named: Vec<_> = others.iter().take(5).map(String::as_str).collect();
        let more = if others.len() > named.len() { ", …" } else { "" };
        found.unread.push(format!(
            "columns that are neither numbers nor texts are not read ({}): {}{more}",
            others.len(),
            named.join(", ")
        ));
    }
    Ok(found)
}

/// Labels in the metadata of a column.
fn labels(field: &Field) -> String {
    let is_label = |key: &str| !NO_LABELS.contains(&key) && !key.starts_with("PARQUET:") && !key.starts_with("ARROW:");
    let mut pairs: Vec<_> = field.metadata().iter().filter(|(key, _)| is_label(key)).collect();
    pairs.sort();
    let mut labels = Labels::default();
    for (key, value) in pairs {
        labels.push(key, value);
    }
    labels.text().to_owned()
}

fn per_second(unit: TimeUnit) -> f64 {
    match unit {
        TimeUnit::Second => 1.0,
        TimeUnit::Millisecond => 1e3,
        TimeUnit::Microsecond => 1e6,
        TimeUnit::Nanosecond => 1e9,
    }
}

/// Parts of a second as the metadata or the name say; without either nanoseconds, as Rezolus and Prometheus' exporters to
/// Parquet have them.
fn declared(name: &str, unit: Option<&str>) -> f64 {
    match unit {
        Some("seconds" | "s") => 1.0,
        Some("milliseconds" | "ms") => 1e3,
        Some("microseconds" | "us" | "µs") => 1e6,
        None if name.ends_with("_ms") => 1e3,
        _ => 1e9,
    }
}

impl Column {
    /// Its own labels and those of a row.
    pub fn with<'a>(&'a self, of_row: &'a str) -> Cow<'a, str> {
        match (self.labels.as_str(), of_row) {
            (own, "") => Cow::Borrowed(own),
            ("", of_row) => Cow::Borrowed(of_row),
            (own, of_row) => Cow::Owned(format!("{own},{of_row}")),
        }
    }

    /// Its values in a batch.
    ///
    /// # Errors
    /// When the batch has fewer columns than in the file's schema.
    pub fn values<'b>(&self, batch: &'b RecordBatch) -> Result<&'b dyn Array, String> {
        batch
            .columns()
            .get(self.place)
            .map(|array| array.as_ref())
            .ok_or_else(|| format!("column {} is missing", self.name))
    }
}
