//! Reads JSON by a description: rows of the reports of sysstat's tools.

use fenxi_model::{Row, Table};
use serde_json::{Map, Value};

use super::{
    document::{Keys, Wrong, list},
    goal::Goal,
    objects::{self, Objects},
    report::TableRule,
    shipped,
};
use crate::{
    Field, Input, Out,
    generic::labels::Labels,
    load,
    sysstat::{
        json::{Columns, label, objects, reports_of_moments},
        times::Times,
    },
};

/// Keys of `[json]`: `table` is the one that a reader fills.
const OF_JSON: &[&str] = &["like", "rows", "name", "reader", "table"];

/// Documents that `[json]` reads: those like a shipped format's, or those that its own columns describe.
#[derive(Debug)]
pub(super) enum Json {
    /// Reports of sysstat.
    Like(Document),
    /// Any others.
    Any(Objects),
}

impl Json {
    /// Reads `[json]`, if it is there.
    pub(super) fn read(name: &'static str, top: &Keys<'_, '_>) -> Result<Option<Json>, Wrong> {
        let Some(keys) = top.table("json", "[json]", &[])? else { return Ok(None) };
        if keys.value("like").is_some() || keys.value("reader").is_some() {
            return Ok(Document::read(top)?.map(Json::Like));
        }
        let keys = top.table("json", "[json]", objects::OF_JSON)?.unwrap_or(keys);
        Objects::read(name, keys).map(|objects| Some(Json::Any(objects)))
    }

    /// Reads all of the input.
    pub(super) fn run(&self, input: &mut Input<'_>, out: &mut Out<'_>) {
        match self {
            Json::Like(document) => document.run(input, out),
            Json::Any(objects) => objects.run(input, out),
        }
    }
}

/// Code that reads documents of JSON.
type Reader = fn(&mut Input<'_>, &mut Out<'_>);

/// The names that descriptions have for it.
const READERS: &[(&str, Reader)] =
    &[("ghz", load::ghz::read_json), ("oha", load::oha::read_json), ("vegeta", load::vegeta::read_json)];

/// Documents like those of a shipped format.
#[derive(Debug)]
pub(super) enum Document {
    Rows(Rows),
    /// Read by code.
    Coded(Reader),
}

/// Reports of sysstat, with a list of rows each.
#[derive(Debug)]
pub(super) struct Rows {
    /// Prefix of metrics: they are those of the text.
    name: &'static str,
    fields: Vec<Field>,
    table: &'static Table,
    place: usize,
    label: String,
    /// The list of rows in a report, and what each of them is called by.
    rows: String,
    key: String,
}

impl Document {
    /// Reads `[json]` with `like`, if it is there.
    fn read(top: &Keys<'_, '_>) -> Result<Option<Document>, Wrong> {
        let Some(keys) = top.table("json", "[json]", OF_JSON)? else { return Ok(None) };
        let source = keys.source;
        if let Some(said) = keys.text("reader")? {
            let Some((_, reader)) = READERS.iter().find(|(name, _)| *name == said.text) else {
                let known: Vec<&str> = READERS.iter().map(|(name, _)| *name).collect();
                let why = format!("no reader of JSON is called `{}`; there are {}", said.text, list(&known));
                return Err(source.wrong(said.at, why));
            };
            return Ok(Some(Document::Coded(*reader)));
        }
        let like = keys.needed("like", "\"tapestat\"")?;
        let Some(text) = shipped::named(like.text) else {
            return Err(source.wrong(like.at, format!("no shipped description is called `{}`", like.text)));
        };
        let found = text.report.as_ref().and_then(|report| Some((report.name, report.tables.first()?)));
        let key = |rule: &TableRule| {
            rule.others.iter().find_map(|(_, goal)| match goal {
                Goal::Key { table, place, label } => Some((*table, *place, label.clone())),
                _ => None,
            })
        };
        let Some((name, rule, (table, place, label))) = found.and_then(|(name, rule)| Some((name, rule, key(rule)?)))
        else {
            return Err(source.wrong(like.at, format!("`{}` has no [[table]] whose rows have a key", like.text)));
        };
        Ok(Some(Document::Rows(Rows {
            name,
            fields: rule.fields.clone(),
            table,
            place,
            label,
            rows: keys.needed("rows", "\"tape\"")?.text.to_owned(),
            key: keys.needed("name", "\"tape_device\"")?.text.to_owned(),
        })))
    }

    /// Reads all of the input.
    pub(super) fn run(&self, input: &mut Input<'_>, out: &mut Out<'_>) {
        match self {
            Document::Rows(rows) => rows.run(input, out),
            Document::Coded(read) => read(input, out),
        }
    }
}

impl Rows {
    fn run(&self, input: &mut Input<'_>, out: &mut Out<'_>) {
        reports_of_moments(input, out, |_, first, _| first, |report, times, out| self.report(report, times, out));
    }

    fn report(&self, report: &Map<String, Value>, times: &Times, out: &mut Out<'_>) {
        let columns = Columns { format: self.name, table: self.table, known: &self.fields };
        for object in objects(report, &self.rows) {
            let name = label(object, &self.key);
            let keys = |row: &mut Row<'_>| {
                row.str(self.place, name.as_str());
            };
            columns.write(out, times.at(), object, keys, Labels::of(&self.label, &name).text());
        }
    }
}
