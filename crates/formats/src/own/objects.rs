//! Reads JSON by a description: documents of any tool, of which each has rows, or is one. Columns are described as in a table.
//!
//! Lines of JSON are read one after another; other documents are held in memory, within bounds.

use fenxi_model::{Micros, Table};
use jiff::tz::TimeZone;
use serde::de::DeserializeSeed;
use serde_json::{Map, Value};

use super::{
    document::{Keys, Wrong},
    goal::{Goal, ResultGoal},
    unit::Per,
};
use crate::{
    Input, Out,
    generic::{
        labels::Labels,
        when::{Times, When},
    },
    json::{Bounded, MOST_VALUES, object},
    load::names::Results,
    number,
    procps::moments::Moments,
    scaled,
};

/// Keys of `[json]`, of documents of any tool.
pub(super) const OF_JSON: &[&str] = &["rows", "columns", "time", "zone"];
/// The longest document that is held.
const LONGEST: usize = 64 << 20;
/// How deep values are looked for that nothing names.
const DEEPEST: usize = 8;

/// Description of documents.
#[derive(Debug)]
pub(super) struct Objects {
    name: &'static str,
    /// Where the rows are in a document; empty where it is one.
    rows: Vec<String>,
    columns: Vec<(String, Goal)>,
    when: When,
    zone: Option<TimeZone>,
    /// Whether a column is the time.
    timed: bool,
}

impl Objects {
    /// Reads `[json]` with `columns`.
    pub(super) fn read(name: &'static str, keys: Keys<'_, '_>) -> Result<Objects, Wrong> {
        let source = keys.source;
        let Some(named) = keys.table("columns", "[json.columns]", &[])? else {
            return Err(source.wrong(keys.at, "[json] has neither `like` nor [json.columns]: nothing would be read"));
        };
        let mut columns = Vec::new();
        let mut all: Vec<_> = named.all().collect();
        all.sort_by_key(|(key, _)| key.at);
        for (key, value) in all {
            let Some(text) = value.get_ref().as_str() else {
                return Err(named.wrong_type(key.text, value, "a text such as \"mem.free_bytes KiB\""));
            };
            let goal =
                Goal::read(text).map_err(|why| source.wrong(value.span().start, format!("`{}`: {why}", key.text)))?;
            if matches!(goal, Goal::Column { per: Per::Interval, .. }) {
                let why = format!("`{}`: documents have no interval to divide a count by", key.text);
                return Err(source.wrong(value.span().start, why));
            }
            columns.push((key.text.to_owned(), goal));
        }
        Ok(Objects {
            name,
            rows: keys.text("rows")?.map_or_else(Vec::new, |said| said.text.split('.').map(str::to_owned).collect()),
            timed: columns.iter().any(|(_, goal)| matches!(goal, Goal::Time)),
            columns,
            when: When::named(keys.text("time")?.map_or("iso", |said| said.text)),
            zone: keys.zone()?,
        })
    }

    /// Reads all of the input.
    pub(super) fn run(&self, input: &mut Input<'_>, out: &mut Out<'_>) {
        let mut reader = Reader::new(self, out);
        let is_lines =
            input.head().lines().find(|line| !line.trim().is_empty()).is_some_and(|line| object(line).is_some());
        if is_lines {
            input.each_line(|line, text| match object(text) {
                _ if text.trim().is_empty() => {}
                Some(document) => reader.document(line, &Value::Object(document), out),
                None => out.unknown(line, text, "no JSON object"),
            });
            return;
        }
        let Some(text) = input.whole(LONGEST) else {
            return out.note(None, "a document that is longer than 64 MiB is not read");
        };
        let mut left = MOST_VALUES;
        let mut documents = serde_json::Deserializer::from_str(&text).into_iter::<serde::de::IgnoredAny>();
        let mut begin = 0;
        // Where each document ends, then it by itself: within the bound of parts.
        while let Some(next) = documents.next() {
            let end = documents.byte_offset();
            let line = text[..begin].matches('\n').count() as u64 + 1;
            let piece = &text[begin..end];
            begin = end;
            let read = next.and_then(|_| {
                let mut json = serde_json::Deserializer::from_str(piece);
                Bounded::new(&mut left).deserialize(&mut json)
            });
            match read {
                Ok(document) => reader.document(line, &document, out),
                Err(error) => return out.note(line, &format!("no JSON from here on: {error}")),
            }
        }
    }
}

/// Where values of rows are put.
struct Reader<'r> {
    of: &'r Objects,
    times: Times,
    moments: Moments,
    results: Results,
    written: bool,
    runs: u32,
}

impl<'r> Reader<'r> {
    fn new(of: &'r Objects, out: &mut Out<'_>) -> Reader<'r> {
        let times = Times::in_zone(out, of.zone.clone());
        let moments = Moments::new(out);
        Reader { of, times, moments, results: Results::default(), written: false, runs: 1 }
    }

    /// A document, in a text of one or more.
    fn document(&mut self, line: u64, document: &Value, out: &mut Out<'_>) {
        if std::mem::take(&mut self.written) {
            self.runs = self.runs.saturating_add(1);
            self.results = Results::nth(self.runs);
        }
        let found = self.of.rows.iter().try_fold(document, |value, key| at(value, key));
        let mut at_document = None;
        match found {
            Some(Value::Array(rows)) => {
                for row in rows {
                    self.row(line, row, &mut at_document, out);
                }
            }
            Some(row @ Value::Object(_)) => self.row(line, row, &mut at_document, out),
            _ if self.of.rows.is_empty() => out.note(line, "a document that is neither an object nor a list"),
            _ => out.note(line, &format!("a document without `{}`", self.of.rows.join("."))),
        }
    }

    fn row(&mut self, line: u64, row: &Value, of_document: &mut Option<(Micros, Option<f64>)>, out: &mut Out<'_>) {
        let Value::Object(row) = row else { return out.note(line, "a row that is no object") };
        let time =
            self.of.columns.iter().find(|(_, goal)| matches!(goal, Goal::Time)).and_then(|(path, _)| get(row, path));
        let (t, dt) = match (time, self.of.timed) {
            (Some(value), _) => match self.times.read(&self.of.when, &text(value), out) {
                Some(t) => (t, None),
                None => return out.unknown(line, &text(value), "no time as [json] describes it"),
            },
            (None, true) => return out.note(line, "a row without its time"),
            // Rows of a document are of one moment.
            (None, false) => *of_document.get_or_insert_with(|| self.moments.next(out)),
        };
        self.write(line, row, (t, dt), out);
    }

    fn write(&mut self, line: u64, row: &Map<String, Value>, at: (Micros, Option<f64>), out: &mut Out<'_>) {
        let of = self.of;
        let found = |path: &String| get(row, path).filter(|value| !value.is_null());
        let mut labels = Labels::default();
        let mut tables: Vec<&'static Table> = Vec::new();
        for (path, goal) in &of.columns {
            let Some(value) = found(path) else { continue };
            match goal {
                Goal::Label(label) | Goal::Key { label, .. } => labels.push(label, &text(value)),
                Goal::Column { table, .. } if !tables.iter().any(|known| known.id == table.id) => tables.push(table),
                _ => {}
            }
        }
        let mut wrong = Vec::new();
        for table in tables {
            let mut written = out.row(table, at.0, at.1);
            for (path, goal) in &of.columns {
                let Some(value) = found(path) else { continue };
                match goal {
                    Goal::Column { table: of, place, scale, offset, .. } if of.id == table.id => {
                        written.f64(*place, told(path, value, &mut wrong).map(|value| value * scale + offset));
                    }
                    Goal::Key { table: of, place, .. } if of.id == table.id => {
                        written.str(*place, text(value).as_str());
                    }
                    _ => {}
                }
            }
        }
        for (path, goal) in &of.columns {
            let Some(value) = found(path) else { continue };
            match goal {
                Goal::Metric { name, unit, scale, .. } => {
                    if let Some(value) = told(path, value, &mut wrong) {
                        let name = format!("{}.{}", of.name, name.unwrap_or(path));
                        out.metric(at.0, at.1, &name, labels.text(), value * scale, unit);
                    }
                }
                Goal::Result(goal) => self.result(path, goal, value, &mut wrong, out),
                _ => {}
            }
        }
        wrong.iter().for_each(|wrong| out.note(line, wrong));
        self.others(row, &mut String::new(), &labels, at, 0, out);
    }

    fn result(&mut self, path: &str, goal: &ResultGoal, value: &Value, wrong: &mut Vec<String>, out: &mut Out<'_>) {
        let figure = match value {
            Value::String(text) => goal.of(text),
            value => value.as_f64().map(|value| goal.value(value)),
        };
        match figure {
            Some(figure) => {
                self.written = true;
                self.results.named(out, &goal.name, "", Some(figure), goal.unit, goal.better);
            }
            None => wrong.push(format!("`{path}`: no figure: {}", text(value))),
        }
    }

    /// Numbers that no column names are metrics.
    fn others(
        &self,
        row: &Map<String, Value>,
        path: &mut String,
        labels: &Labels,
        at: (Micros, Option<f64>),
        depth: usize,
        out: &mut Out<'_>,
    ) {
        for (key, value) in row {
            let length = path.len();
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(key);
            let named = self.of.columns.iter().any(|(known, _)| known == path);
            match value {
                Value::Number(number) if !named => {
                    let name = format!("{}.{path}", self.of.name);
                    out.metric(at.0, at.1, &name, labels.text(), number.as_f64(), "");
                }
                Value::Object(below) if !named && depth < DEEPEST => {
                    self.others(below, path, labels, at, depth + 1, out);
                }
                _ => {}
            }
            path.truncate(length);
        }
    }
}

/// Value at a key, or at a place of a list.
fn at<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    match value {
        Value::Object(object) => object.get(key),
        Value::Array(list) => list.get(key.parse::<usize>().ok()?),
        _ => None,
    }
}

/// Value at a path, `cpu.percent`; a key may contain dots.
fn get<'v>(row: &'v Map<String, Value>, path: &str) -> Option<&'v Value> {
    if let Some(value) = row.get(path) {
        return Some(value);
    }
    let mut keys = path.split('.');
    keys.clone().nth(1)?;
    let first = row.get(keys.next()?)?;
    keys.try_fold(first, at)
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A number, or a remark that there is none.
fn told(path: &str, value: &Value, wrong: &mut Vec<String>) -> Option<f64> {
    let figure = figure(value);
    if figure.is_none() {
        wrong.push(format!("`{path}`: no number: {}", text(value)));
    }
    figure
}

/// A number, also in a text: `"12.5%"`, `"1.5GiB"`.
fn figure(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::Bool(value) => Some(f64::from(u8::from(*value))),
        Value::String(text) => {
            let text = text.trim().trim_end_matches('%');
            number(text).or_else(|| scaled(text, 1024.0))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        TextFormat,
        own::tests::{format, read},
    };

    const POOLS: &str = "summary = 'pools'\n[json]\nrows = 'pools'\ntime = 'epoch_s'\n[json.columns]\nat = 'time'\nname = 'disk.device'\n'io.reads' = 'disk.reads_per_s'\n'io.mb' = 'disk.read_bytes_per_s MB/s'\nlag = 'metric ms'\nstate = 'label.state'\n";

    #[test]
    fn rows_of_a_document_are_read_by_the_paths_of_their_values() {
        let text = r#"{"pools": [
            {"at": 1795269600, "name": "fast", "io": {"reads": 10, "mb": "1.5", "other": 3}, "lag": 2, "state": "up"},
            {"at": 1795269600, "name": "slow", "io": {"reads": null}, "lag": "x"}
        ]}"#;
        let found = read(format(POOLS), text);
        for row in [
            "\tfast\t10\t1500000\n",
            "mine.lag\tdevice=fast,state=up\t0.002\ts",
            "mine.io.other\tdevice=fast,state=up\t3",
        ] {
            assert!(found.text.contains(row), "{row}\n{}", found.text);
        }
        assert!(found.text.contains("`lag`: no number: x"), "{}", found.text);
        assert_eq!(found.tally.notes, 1, "{}", found.text);
    }

    #[test]
    fn lines_of_json_and_results_are_read() {
        let results = "summary = 'runs'\n[json]\n[json.columns]\nqps = 'result.throughput'\n'lat.p99' = 'result.latency_max us'\n";
        let text = "{\"qps\": 100, \"lat\": {\"p99\": 1500}}\n{\"qps\": 200\n{\"qps\": 300}\n";
        let found = read(format(results), text);
        for row in ["\tthroughput\t100\t/s\thigher", "\tlatency_max\t1.5\tms\tlower", "\tthroughput#2\t300\t/s\thigher"]
        {
            assert!(found.text.contains(row), "{row}\n{}", found.text);
        }
        assert_eq!(found.tally.notes, 1, "{}", found.text);
    }

    #[test]
    fn a_cut_document_and_one_of_another_form_are_notes() {
        let found = read(format(POOLS), "{\"pools\": [{\"at\": 1, \"na");
        assert!(found.text.contains("no JSON from here on"), "{}", found.text);
        let found = read(format(POOLS), "{\"other\": 1}");
        assert!(found.text.contains("a document without `pools`"), "{}", found.text);
        let found = read(format(POOLS), "[1, 2]");
        assert!(found.text.contains("a document without `pools`"), "{}", found.text);
    }

    #[test]
    fn wrong_columns_are_named_with_their_line() {
        let said = |text: &str| TextFormat::parse("mine", "mine.toml", text, "").unwrap_err().to_string();
        assert!(said(&POOLS.replace("disk.reads_per_s", "disk.reeds")).starts_with("mine.toml:8: `io.reads`:"));
        assert!(said("summary = 'x'\n[json]\nrows = 'a'\n").contains("neither `like` nor [json.columns]"));
        assert!(said(&POOLS.replace("rows =", "row =")).contains("did you mean `rows`"));
    }
}
