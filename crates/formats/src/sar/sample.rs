//! Common parts of `sadf -j` and `sadf -x`: elements with named figures.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::{
    plan::Plan,
    section::{OTHER, Section},
    write::{Cells, Value, When, Writer},
};
use crate::Out;

/// A figure or a name, as the document has it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Leaf {
    Number(f64),
    Text(String),
    Null,
}

/// The figures of one element, by their names.
pub(super) type Pairs = Vec<(String, Leaf)>;

/// Writes elements as rows.
pub(super) struct Elements {
    writer: Writer,
    /// Plans by element, each for the names that were seen in it.
    plans: FxHashMap<String, Vec<(Vec<String>, Plan)>>,
}

impl Elements {
    pub(super) fn new() -> Elements {
        Elements { writer: Writer::new(), plans: FxHashMap::default() }
    }

    pub(super) fn flush(&mut self, out: &mut Out<'_>) {
        self.writer.flush(out);
    }

    /// Writes the figures of the element called `name`.
    pub(super) fn write(&mut self, out: &mut Out<'_>, when: When, name: &str, pairs: &mut Pairs) {
        if matches!(name, "usb" | "usb-devices") {
            join_names(pairs);
        }
        if !self.plans.contains_key(name) {
            self.plans.insert(name.to_owned(), Vec::new());
        }
        let Some(plans) = self.plans.get_mut(name) else { return };
        let fits = |(names, _): &(Vec<String>, Plan)| names.iter().eq(pairs.iter().map(|(name, _)| name));
        let at = plans.iter().position(fits).unwrap_or_else(|| {
            let names: Vec<String> = pairs.iter().map(|(name, _)| name.clone()).collect();
            let plan = plan(name, &names);
            plans.push((names, plan));
            plans.len() - 1
        });
        self.writer.row(out, 0, when, &plans[at].1, &Leaves(pairs));
    }
}

/// Plans for an element with these names in it.
fn plan(element: &str, names: &[String]) -> Plan {
    let section = Section::of_element(element).unwrap_or(&OTHER);
    let header = |name: &String| match section.key_index(name) {
        // Some keys are headed differently by what they name: keep those as they are.
        Some(_) => name.clone(),
        None => section.header(name),
    };
    let headers: Vec<String> = names.iter().map(header).collect();
    Plan::new(section, &headers.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Makes one name of maker and product, as text has them.
fn join_names(pairs: &mut Pairs) {
    let maker = pairs.iter().position(|(name, _)| name == "manufact");
    let product = pairs.iter().position(|(name, _)| name == "product");
    if let (Some(maker), Some(product)) = (maker, product)
        && maker < product
    {
        let text = |at: usize| if let Leaf::Text(text) = &pairs[at].1 { text.clone() } else { String::new() };
        let both = format!("{} {}", text(maker), text(product));
        let words: Vec<&str> = both.split_ascii_whitespace().collect();
        pairs[maker].1 = Leaf::Text(words.join(" "));
        pairs.remove(product);
    }
}

struct Leaves<'a>(&'a Pairs);

impl Cells for Leaves<'_> {
    fn text(&self, column: usize) -> Cow<'_, str> {
        match self.0.get(column) {
            Some((_, Leaf::Text(text))) => Cow::Borrowed(text),
            Some((_, Leaf::Number(number))) => Cow::Owned(number.to_string()),
            _ => Cow::Borrowed(""),
        }
    }

    fn value(&self, column: usize) -> Value {
        match self.0.get(column) {
            Some((_, Leaf::Number(number))) => Value::Number(*number),
            Some((_, Leaf::Text(text))) => Value::read(text),
            _ => Value::Missing,
        }
    }
}

/// The time of an element.
#[derive(Debug, Default)]
pub(super) struct TimeParts {
    pub(super) date: String,
    pub(super) time: String,
    /// Whether it is marked as UTC; the oldest reports have no mark and are in UTC.
    pub(super) utc: Option<bool>,
    pub(super) interval: String,
}

impl TimeParts {
    /// Takes a named value that belongs to a time; false for another.
    pub(super) fn take(&mut self, name: &str, value: &str) -> bool {
        match name {
            "date" => value.clone_into(&mut self.date),
            "time" => value.clone_into(&mut self.time),
            "interval" => value.clone_into(&mut self.interval),
            "utc" => self.utc = Some(value == "1"),
            "tz" => self.utc = Some(value == "UTC"),
            _ => return false,
        }
        true
    }

    /// The text that [`super::moment::Moments`] reads.
    pub(super) fn text(&self) -> String {
        // Seconds since 1970 stand alone.
        let parts = [&self.date, &self.time].map(String::as_str);
        let zone = if self.utc.unwrap_or(true) { "UTC" } else { "" };
        match parts {
            ["", alone] | [alone, ""] => alone.to_owned(),
            [date, time] => format!("{date} {time} {zone}"),
        }
    }
}
