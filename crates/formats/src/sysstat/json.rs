//! The JSON of sysstat's tools: `{"sysstat": {"hosts": [{..., "statistics": [{...}]}]}}`.
//!
//! Reports are handed on one by one, so that a document of any length is read in bounded memory. A
//! tool that was killed leaves a document without an end: what came before it is read.

use std::fmt;

use fenxi_model::{Micros, Row, Table};
use jiff::civil::Time;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::times::{Stamp, Times, moment};
use crate::{
    Field, Head, Input, Out, Ticker, civil_date, civil_time,
    json::{Bounded, MOST_VALUES, Measured},
};

/// Part of a document.
enum Part<'a> {
    /// Something about the host: `nodename`, `date` and the like.
    Host(&'a str, &'a Value),
    /// One report.
    Report(&'a Map<String, Value>),
}

/// Whether `head` begins as such a document does and has one of `keys`.
pub(crate) fn is_document(head: &Head<'_>, keys: &[&str]) -> bool {
    let text = head.text.trim_start();
    text.starts_with('{')
        && text.get(1..).is_some_and(|t| t.trim_start().starts_with("\"sysstat\""))
        && keys.iter().any(|key| text.contains(&format!("\"{key}\"")))
        // sadf's documents have the date of their data file.
        && !text.contains("\"file-date\"")
}

/// The stamps of reports in the lines of a document.
fn stamp_in(line: &str) -> Option<&str> {
    line.split_once("\"timestamp\"")?.1.split('"').nth(1)
}

/// Reads `14:35:53` or `02:35:53 PM`.
fn time(text: &str) -> Option<Time> {
    let mut words = text.split_ascii_whitespace();
    civil_time(words.next()?, words.next())
}

/// Whether the report since boot was left out (`-y`), which versions up to 12.7.8 show by a blank line in its place.
fn omits_first(head: &str) -> bool {
    let Some((_, reports)) = head.split_once("\"statistics\": [") else { return false };
    reports.lines().nth(1).is_some_and(|line| line.trim().is_empty())
}

/// Hands on the parts of all documents of `input`.
fn each(input: &mut Input<'_>, out: &mut Out<'_>, mut on: impl FnMut(Part<'_>, &mut Out<'_>)) {
    let mut reader = std::io::BufReader::new(Measured::new(input.bytes()));
    // One document after another, each with its own deserializer that goes on in the reader.
    let mut documents = serde_json::Deserializer::from_reader(&mut reader);
    loop {
        let walk = Walk { level: Level::Document, on: &mut |part: Part<'_>| on(part, out) };
        if let Err(error) = walk.deserialize(&mut documents) {
            out.note(u64::try_from(error.line()).ok(), &format!("the JSON cannot be read further: {error}"));
            return;
        }
        if documents.end().is_ok() {
            return;
        }
    }
}

/// Hands on the reports of a tool that stamps them with times of day, each with its time and length.
pub(crate) fn reports(
    input: &mut Input<'_>,
    out: &mut Out<'_>,
    mut on: impl FnMut(&Map<String, Value>, (Micros, Option<f64>), &mut Out<'_>),
) {
    let head = input.head();
    let seconds = |line: &str| stamp_in(line).and_then(time).map(|time| Stamp::Time(time).seconds());
    let ticker = Ticker::new(out.hints(), &head, seconds);
    let mut times = Times::new(out, ticker, None);
    drop(head);
    each(input, out, |part, out| match part {
        Part::Host(key, value) => host(key, value, &mut times, out),
        Part::Report(report) => {
            if let Some(time) = report.get("timestamp").and_then(Value::as_str).and_then(time) {
                times.stamp(Stamp::Time(time), out);
            }
            times.report(false, out);
            on(report, times.at(), out);
        }
    });
}

/// Hands on the reports of a tool that stamps them with moments and begins with the average since boot, unless that was left out:
/// `is_boot` is asked of each report, with whether it may be the one.
pub(crate) fn reports_of_moments(
    input: &mut Input<'_>,
    out: &mut Out<'_>,
    is_boot: impl Fn(&Map<String, Value>, bool, &mut Times) -> bool,
    mut on: impl FnMut(&Map<String, Value>, &Times, &mut Out<'_>),
) {
    let head = input.head();
    let seconds = |line: &str| stamp_in(line).and_then(moment).map(|stamp| stamp.seconds());
    let mut times = Times::new(out, Ticker::new(out.hints(), &head, seconds), None);
    let omitted = omits_first(&head);
    drop(head);
    let mut first = false;
    each(input, out, |part, out| match part {
        Part::Host(key, value) => {
            first |= key == "nodename" && !omitted;
            host(key, value, &mut times, out);
        }
        Part::Report(report) => {
            if let Some(stamp) = report.get("timestamp").and_then(Value::as_str).and_then(moment) {
                times.stamp(stamp, out);
            }
            let boot = is_boot(report, std::mem::take(&mut first), &mut times);
            times.report(boot, out);
            out.since_boot(boot);
            on(report, &times, out);
            out.since_boot(false);
        }
    });
}

/// Takes a document's facts on its host: the name, and the date on which the tool was begun.
fn host(key: &str, value: &Value, times: &mut Times, out: &mut Out<'_>) {
    let text = value.as_str().unwrap_or("");
    if key == "nodename" {
        out.set_host(text);
    } else if let Some(date) = civil_date(text).filter(|_| key == "date") {
        times.begin(date);
    }
}

/// How deep in a document a value is.
#[derive(Clone, Copy)]
enum Level {
    Document,
    Sysstat,
    Hosts,
    Host,
    Statistics,
}

struct Walk<'a, F> {
    level: Level,
    on: &'a mut F,
}

impl<F: FnMut(Part<'_>)> Walk<'_, F> {
    fn down(&mut self, level: Level) -> Walk<'_, F> {
        Walk { level, on: self.on }
    }
}

impl<'de, F: FnMut(Part<'_>)> DeserializeSeed<'de> for Walk<'_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.level {
            Level::Hosts | Level::Statistics => deserializer.deserialize_seq(self),
            _ => deserializer.deserialize_map(self),
        }
    }
}

impl<'de, F: FnMut(Part<'_>)> Visitor<'de> for Walk<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("what sysstat prints")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let mut found = false;
        while let Some(key) = map.next_key::<String>()? {
            let inner = match (self.level, key.as_str()) {
                (Level::Document, "sysstat") => Some(Level::Sysstat),
                (Level::Sysstat, "hosts") => Some(Level::Hosts),
                (Level::Host, "statistics") => Some(Level::Statistics),
                _ => None,
            };
            found |= inner.is_some();
            match (self.level, inner) {
                (_, Some(inner)) => map.next_value_seed(self.down(inner))?,
                (Level::Host, None) => {
                    let value = map.next_value_seed(Bounded::new(&mut { MOST_VALUES }))?;
                    (self.on)(Part::Host(&key, &value));
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        if found { Ok(()) } else { Err(A::Error::custom("not what sysstat prints")) }
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<(), A::Error> {
        match self.level {
            Level::Hosts => while seq.next_element_seed(self.down(Level::Host))?.is_some() {},
            _ => {
                while let Some(report) = seq.next_element_seed(Bounded::new(&mut { MOST_VALUES }))? {
                    let Value::Object(report) = report else { return Err(A::Error::custom("not what sysstat prints")) };
                    (self.on)(Part::Report(&report));
                }
            }
        }
        Ok(())
    }
}

/// The objects of the array `key` of a report.
pub(crate) fn objects<'v>(report: &'v Map<String, Value>, key: &str) -> impl Iterator<Item = &'v Map<String, Value>> {
    report.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object)
}

/// A label of an object, which some versions write as a number.
pub(crate) fn label(object: &Map<String, Value>, key: &str) -> String {
    match object.get(key) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

/// The columns of one table that an object has under the names that its tool prints as headers, with
/// or without the percent sign. Other numbers go to `metric`.
pub(crate) struct Columns<'k> {
    pub(crate) format: &'static str,
    pub(crate) table: &'static Table,
    pub(crate) known: &'k [Field],
}

impl<'k> Columns<'k> {
    fn field(&self, key: &str) -> Option<&'k Field> {
        self.known.iter().find(|f| f.header() == key || f.header().strip_prefix('%') == Some(key))
    }

    /// Gives the place and the value of each known column, NULLs left out.
    pub(crate) fn values<'v>(
        &self,
        object: &'v Map<String, Value>,
    ) -> impl Iterator<Item = (usize, f64)> + use<'v, 'k> {
        let zero = |key: &&str| object.get(*key).is_none_or(|v| v.as_f64() == Some(0.0));
        let fields: Vec<_> = object.iter().filter_map(|(key, v)| Some((self.field(key)?, v.as_f64()?))).collect();
        fields.into_iter().filter_map(move |(field, value)| {
            let (_, place) = field.target()?;
            let counts = field.counts();
            let nothing = value == 0.0 && counts.iter().any(|c| object.contains_key(*c)) && counts.iter().all(zero);
            (!nothing).then_some((place, value * field.scale()))
        })
    }

    /// Writes a row with the columns of `object`.
    pub(crate) fn write(
        &self,
        out: &mut Out<'_>,
        (t, dt): (Micros, Option<f64>),
        object: &Map<String, Value>,
        keys: impl Fn(&mut Row<'_>),
        labels: &str,
    ) {
        let mut row = out.row(self.table, t, dt);
        keys(&mut row);
        for (place, value) in self.values(object) {
            row.f64(place, value);
        }
        self.metrics(out, (t, dt), object, labels);
    }

    /// Writes the numbers of `object` that no column is known for.
    pub(crate) fn metrics(
        &self,
        out: &mut Out<'_>,
        at: (Micros, Option<f64>),
        object: &Map<String, Value>,
        labels: &str,
    ) {
        for (key, value) in object {
            let none =
                |field: &Field| field.counts().iter().any(|c| object.get(*c).and_then(Value::as_f64) == Some(0.0));
            // Called as the text calls it, with its percent sign.
            let (name, unit, scale) = match self.field(key) {
                Some(field) if field.metric_unit().is_some() && none(field) => continue,
                None => (key.as_str(), "", 1.0),
                Some(field) => match field.metric_unit() {
                    Some(unit) => (field.header(), unit, field.scale()),
                    None => continue,
                },
            };
            if let Some(value) = value.as_f64() {
                out.metric(at.0, at.1, &format!("{}.{name}", self.format), labels, value * scale, unit);
            }
        }
    }
}
