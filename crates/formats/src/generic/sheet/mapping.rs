//! Which column of a sheet is what: `[columns]`, in the words of a format's description, with what else a sheet needs.
//! `docs/import-mapping.md` describes the file.
//!
//! `[[value]]`, `labels`, `host`, `name`, `ignore` and the column of `[time]` are older words for the same.

use std::{collections::BTreeMap, sync::Arc};

use fenxi_model::Type;
use jiff::tz::TimeZone;
use toml::{Spanned, de::DeValue};

use super::{
    Decimal, Place, Role, Target,
    recognise::{KEYS, Recognise},
};
use crate::{
    Out,
    generic::{labels::unit_of, when::When},
    own::{Goal, Keys, Per, Source, Wrong, place_of},
};

const TOP: &[&str] = &[
    "summary",
    "recognise",
    "separator",
    "decimal",
    "skip",
    "columns",
    "time",
    "host",
    "name",
    "labels",
    "ignore",
    "others",
    "set",
    "value",
];
const OF_TIME: &[&str] = &["column", "format", "zone", "interval", "interval_s"];
const OF_COLUMN: &[&str] = &["to", "set"];
const OF_VALUE: &[&str] =
    &["column", "table", "to", "metric", "unit", "scale", "offset", "counter", "cumulative", "amount", "set"];

/// Labels of rows, by name.
type Set = BTreeMap<String, String>;

/// A mapping, as far as it makes sense.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Mapping {
    rules: Arc<Rules>,
    /// Shipped mappings of columns that this one leaves open.
    further: Vec<Mapping>,
}

#[derive(Debug, Default)]
struct Rules {
    summary: String,
    recognise: Recognise,
    separator: Option<u8>,
    decimal: Option<Decimal>,
    skip: usize,
    /// The columns of a file without a header.
    names: Vec<String>,
    when: Option<When>,
    zone: Option<TimeZone>,
    interval_s: Option<f64>,
    /// Roles of columns, whose names may have placeholders: by `[columns]`, and by the older words.
    columns: Vec<(String, Role)>,
    older: Vec<(String, Role)>,
    /// Whether columns that are not named are dropped.
    only: bool,
}

impl Mapping {
    /// Reads the mapping of the hints; what is wrong in it becomes a note each.
    pub(in super::super) fn of(out: &mut Out<'_>) -> Mapping {
        let Some(text) = out.hints().mapping.clone() else { return Mapping::default() };
        let (mapping, wrong) = Mapping::read(&text);
        wrong.iter().for_each(|why| out.note(None, why));
        mapping
    }

    /// Reads the text of a mapping file, and reports what is wrong in it.
    pub(super) fn read(text: &str) -> (Mapping, Vec<String>) {
        let source = Source { file: "mapping", text };
        let mut wrong = Vec::new();
        let read = source
            .parse()
            .and_then(|document| Rules::read(Keys::new(source, document.get_ref(), 0, "a mapping", TOP)?, &mut wrong));
        match read {
            Ok(rules) => {
                let mapping = Mapping { rules: Arc::new(rules), further: Vec::new() };
                (mapping, wrong.iter().map(|why| format!("the mapping file, {}", told(why))).collect())
            }
            Err(why) => {
                (Mapping::default(), vec![format!("the mapping file cannot be read and is left out: {}", told(&why))])
            }
        }
    }

    /// Of a shipped mapping: whose columns they are.
    pub(super) fn summary(&self) -> &str {
        &self.rules.summary
    }

    /// Of a shipped mapping: by what it is recognised.
    pub(super) fn recognise(&self) -> &Recognise {
        &self.rules.recognise
    }

    /// Whether the column called `name` is what the mapping calls `pattern`.
    pub(super) fn fits(&self, pattern: &str, name: &str) -> bool {
        self.rules.recognise.fits(pattern, name).is_some()
    }

    /// Of a shipped mapping: how many of the columns that only such a file has are among `names`.
    pub(super) fn known_in(&self, names: &[String]) -> usize {
        self.known().filter(|column| names.iter().any(|name| self.fits(column, name))).count()
    }

    /// Of a shipped mapping: the columns that only such a file has.
    pub(super) fn known(&self) -> impl Iterator<Item = &str> {
        let told = self.rules.recognise.known.iter().map(String::as_str);
        let all = self
            .rules
            .columns
            .iter()
            .map(|(column, _)| column.as_str())
            .filter(|_| self.rules.recognise.known.is_empty());
        told.chain(all)
    }

    /// Adds a mapping of columns that this one leaves open.
    pub(super) fn add(&mut self, further: Mapping) {
        self.further.push(further);
    }

    /// Role of the column called `name`; None when the mapping leaves it open.
    pub(in super::super) fn role(&self, name: &str) -> Option<Role> {
        let rules = &self.rules;
        let found = rules.role_in(&rules.columns, name).or_else(|| rules.role_in(&rules.older, name));
        let found = found.or_else(|| rules.only.then_some(Role::Ignored));
        found.or_else(|| self.further.iter().find_map(|mapping| mapping.role(name)))
    }

    /// Whether the mapping names the columns of time.
    pub(in super::super) fn names_time(&self) -> bool {
        self.rules.columns.iter().chain(&self.rules.older).any(|(_, role)| matches!(role, Role::Time))
    }

    /// How the time is written, when the mapping defines it.
    pub(in super::super) fn when(&self) -> Option<When> {
        self.rules.when.clone()
    }

    /// The zone of times that name none.
    pub(in super::super) fn zone(&self) -> Option<TimeZone> {
        self.rules.zone.clone()
    }

    /// Seconds between two rows without a time.
    pub(in super::super) fn interval_s(&self) -> Option<f64> {
        self.rules.interval_s
    }

    /// Decimal separator.
    pub(in super::super) fn decimal(&self) -> Option<Decimal> {
        self.rules.decimal
    }

    /// Separator of cells.
    pub(in super::super) fn separator(&self) -> Option<u8> {
        self.rules.separator
    }

    /// Lines before the header that are no rows.
    pub(in super::super) fn skip(&self) -> usize {
        self.rules.skip
    }

    /// The names of the columns of a file without a header.
    pub(in super::super) fn columns(&self) -> &[String] {
        &self.rules.names
    }
}

fn told(why: &Wrong) -> String {
    format!("line {}: {}", why.line, why.what)
}

impl Rules {
    /// Role of a column in a list: the first that names it; values of several are its values together.
    fn role_in(&self, columns: &[(String, Role)], name: &str) -> Option<Role> {
        let mut targets = Vec::new();
        for (pattern, role) in columns {
            match role {
                Role::Values(of) => {
                    let Some(found) = self.recognise.fits(pattern, name) else { continue };
                    for mut target in of.iter().cloned() {
                        for (label, value) in found.iter().filter(|(label, _)| *label != "*") {
                            target.set.retain(|(known, _)| known != label);
                            target.set.push(((*label).to_owned(), (*value).to_owned()));
                        }
                        targets.push(target);
                    }
                }
                other if targets.is_empty() && pattern == name => return Some(other.clone()),
                _ => {}
            }
        }
        (!targets.is_empty()).then_some(Role::Values(targets))
    }

    /// Reads a mapping; what leaves the rest of it usable is put to `wrong`.
    fn read(keys: Keys<'_, '_>, wrong: &mut Vec<Wrong>) -> Result<Rules, Wrong> {
        let recognise = keys.table("recognise", "[recognise]", KEYS)?;
        let mut rules = Rules {
            summary: keys.text("summary")?.map_or(String::new(), |said| said.text.to_owned()),
            recognise: recognise.map_or(Ok(Recognise::default()), |of| Recognise::read(&of))?,
            separator: match keys.text("separator")? {
                Some(said) if said.text == "tab" => Some(b'\t'),
                said => said.and_then(|said| said.text.bytes().next()),
            },
            decimal: Decimal::read(&keys).unwrap_or_else(|why| none(wrong, why)),
            skip: keys.number("skip")?.map_or(0, |skip| skip as usize),
            ..Rules::default()
        };
        let set = set(&keys)?;
        rules.older_words(&keys, &set, wrong)?;
        if let Some(DeValue::Array(_)) = keys.value("columns").map(Spanned::get_ref) {
            rules.names = owned(&keys, "columns")?;
        } else if let Some(columns) = keys.table("columns", "[columns]", &[])? {
            let mut all: Vec<_> = columns.all().collect();
            all.sort_by_key(|(column, _)| column.at);
            for (column, value) in all {
                match column_role(&columns, column.text, value, &set) {
                    Ok(role) => rules.columns.push((column.text.to_owned(), role)),
                    Err(why) => wrong.push(why),
                }
            }
        }
        Ok(rules)
    }

    fn older_words(&mut self, keys: &Keys<'_, '_>, set: &Set, wrong: &mut Vec<Wrong>) -> Result<(), Wrong> {
        if let Some(time) = keys.table("time", "[time]", OF_TIME)? {
            self.older.extend(owned(&time, "column")?.into_iter().map(|column| (column, Role::Time)));
            self.when = time.text("format")?.map(|said| When::named(said.text));
            self.zone = time.zone().unwrap_or_else(|why| none(wrong, why));
            let interval_s = time.number("interval")?.or(time.number("interval_s")?);
            self.interval_s = interval_s.filter(|seconds| *seconds > 0.0);
        }
        let mut one = |key: &str, role: Role| {
            keys.text(key).map(|said| self.older.extend(said.map(|said| (said.text.to_owned(), role))))
        };
        one("host", Role::Host)?;
        one("name", Role::Name)?;
        match keys.value("labels").map(Spanned::get_ref) {
            Some(DeValue::Table(_)) => {
                self.older
                    .extend(pairs(keys, "labels")?.into_iter().map(|(column, label)| (column, Role::Label(label))));
            }
            _ => self.older.extend(owned(keys, "labels")?.into_iter().map(|name| (name.clone(), Role::Label(name)))),
        }
        for value in keys.tables("value", "[[value]]", OF_VALUE)? {
            let column = value.needed("column", "\"its header\"")?.text.to_owned();
            match target(&value, &column, set) {
                Ok(target) => self.older.push((column, Role::Values(vec![target]))),
                Err(why) => wrong.push(why),
            }
        }
        self.older.extend(owned(keys, "ignore")?.into_iter().map(|column| (column, Role::Ignored)));
        self.only = match keys.text("others")? {
            None => false,
            Some(said) if said.text == "metric" => false,
            Some(said) if said.text == "ignore" => true,
            Some(said) => return Err(keys.source.wrong(said.at, "`others` is \"metric\" or \"ignore\"")),
        };
        Ok(())
    }
}

fn none<T>(wrong: &mut Vec<Wrong>, why: Wrong) -> Option<T> {
    wrong.push(why);
    None
}

fn owned(keys: &Keys<'_, '_>, key: &str) -> Result<Vec<String>, Wrong> {
    Ok(keys.texts(key)?.into_iter().map(|said| said.text.to_owned()).collect())
}

/// A table of texts.
fn pairs(keys: &Keys<'_, '_>, key: &'static str) -> Result<Set, Wrong> {
    let Some(table) = keys.table(key, key, &[])? else { return Ok(Set::new()) };
    let text = |name: &str| table.text(name).map(|said| said.map_or(String::new(), |said| said.text.to_owned()));
    table.all().map(|(name, _)| Ok((name.text.to_owned(), text(name.text)?))).collect()
}

fn set(keys: &Keys<'_, '_>) -> Result<Set, Wrong> {
    pairs(keys, "set")
}

/// Role of a column of `[columns]`.
fn column_role(keys: &Keys<'_, '_>, column: &str, value: &Spanned<DeValue<'_>>, common: &Set) -> Result<Role, Wrong> {
    let wrong = |why: String| keys.source.wrong(value.span().start, format!("column `{column}`: {why}"));
    match value.get_ref() {
        DeValue::String(text) => role(column, text, common).map_err(wrong),
        DeValue::Table(_) => {
            let Some(of) = keys.table(column, "a column", OF_COLUMN)? else { return Ok(Role::Ignored) };
            let mut common = common.clone();
            common.extend(set(&of)?);
            role(column, of.needed("to", "\"disk.reads_per_s\"")?.text, &common).map_err(wrong)
        }
        _ => {
            Err(keys.wrong_type(column, value, "a text such as \"disk.reads_per_s\", or `{ to = \"…\", set = { … } }`"))
        }
    }
}

fn role(column: &str, text: &str, set: &Set) -> Result<Role, String> {
    match text {
        "host" => return Ok(Role::Host),
        "name" => return Ok(Role::Name),
        _ => {}
    }
    let values = |place: Place, scale: f64, offset: f64, per: Per| {
        let set = set.iter().map(|(label, value)| (label.clone(), value.clone())).collect();
        Role::Values(vec![Target { place, scale, offset, per, set }])
    };
    Ok(match Goal::of_sheet(text)? {
        Goal::Column { table, place, scale, offset, per } => values(Place::Column(table, place), scale, offset, per),
        Goal::Metric { name, unit, scale, per } => {
            let unit = if unit.is_empty() { unit_of(column) } else { unit };
            values(Place::Metric { name: name.unwrap_or(column).to_owned(), unit: unit.to_owned() }, scale, 0.0, per)
        }
        // Rows of a table take labels as its keys, by the keys' names.
        Goal::Key { table, place, .. } => Role::Label(table.columns[place].name.to_owned()),
        Goal::Label(label) => Role::Label(label),
        Goal::Time => Role::Time,
        Goal::Skip => Role::Ignored,
        Goal::Result(_) => return Err("a row is a sample; results are of a format's description".to_owned()),
    })
}

/// A column of `[[value]]`.
fn target(keys: &Keys<'_, '_>, column: &str, common: &Set) -> Result<Target, Wrong> {
    let wrong = |why: String| keys.source.wrong(keys.at, format!("column `{column}`: {why}"));
    let text = |key: &str| keys.text(key).map(|said| said.map(|said| said.text));
    let place = match (text("table")?, text("to")?) {
        (None, None) => {
            let unit = text("unit")?.unwrap_or_else(|| unit_of(column));
            Place::Metric { name: text("metric")?.unwrap_or(column).to_owned(), unit: unit.to_owned() }
        }
        (Some(table), Some(to)) => {
            let (table, place) = place_of(table, to).map_err(wrong)?;
            if !matches!(table.columns[place].ty, Type::F64 | Type::I64) {
                return Err(wrong(format!("`{}.{to}` is no number; name it under `labels`", table.name)));
            }
            Place::Column(table, place)
        }
        _ => return Err(wrong("`table` and `to` belong together".to_owned())),
    };
    let counter = keys.value("counter").or(keys.value("cumulative")).map(Spanned::get_ref);
    let per = match counter {
        Some(DeValue::Boolean(true)) => Per::Total,
        // With any word the first values decide.
        Some(DeValue::String(_)) => Per::Shown,
        _ if keys.flag("amount")? => Per::Interval,
        _ => Per::Value,
    };
    let mut labels = common.clone();
    labels.extend(set(keys)?);
    let number = |key: &str, without: f64| keys.number(key).map(|number| number.unwrap_or(without));
    let (scale, offset) = (number("scale", 1.0)?, number("offset", 0.0)?);
    Ok(Target { place, scale, offset, per, set: labels.into_iter().collect() })
}

#[cfg(test)]
mod tests {
    use fenxi_model::Micros;

    use crate::{Hints, fixtures::read_with, format};

    fn read(mapping: &str, text: &str) -> String {
        let hints = Hints {
            modified: Micros::parse("2026-01-02T03:04:05"),
            default_host: "fixture".to_owned(),
            mapping: Some(mapping.to_owned()),
            ..Hints::none("file")
        };
        read_with(format("csv").unwrap(), text.as_bytes(), hints).text
    }

    #[test]
    fn columns_are_said_in_the_words_of_descriptions() {
        let mapping = "[columns]\nstamp = 'time'\nmachine = 'host'\ndisk = 'disk.device'\nrkb = 'disk.read_bytes_per_s KiB/s'\nremark = 'skip'\nlag = 'metric.delay ms'\n";
        let text = "stamp,machine,disk,rkb,lag,remark,more\n2026-11-21 14:00:00,db1,sda,1.5,3,x,7\n2026-11-21 14:00:10,db1,sda,2,4,y,8\n";
        let found = read(mapping, text);
        for part in ["\tdb1\tsda\t1536", "delay\tdevice=sda\t0.003\ts", "more\tdevice=sda\t7"] {
            assert!(found.contains(part), "{part}\n{found}");
        }
        assert!(!found.contains("remark") && !found.contains("# note"), "{found}");
    }

    #[test]
    fn older_words_and_those_of_descriptions_mean_the_same() {
        let text = "time,cpu core #0,sda read,sda busy,lock ms,commits,stalled,ops,lag\n\
            2026-11-21T14:00:00Z,10,5,50,1000,40,3,100,1\n2026-11-21T14:00:10Z,10,6,51,1500,50,4,150,2\n";
        let older = "set = { server = 'db1' }\nvalue = [\n\
            { column = 'cpu core #<cpu>', table = 'cpu', to = 'idle', scale = -1, offset = 100 },\n\
            { column = '<device> read', table = 'disk', to = 'read_bytes_per_s', scale = 1024 },\n\
            { column = '<device> busy', table = 'disk', to = 'util' },\n\
            { column = 'lock ms', table = 'db', to = 'row_lock_time', counter = true, scale = 0.001 },\n\
            { column = 'commits', table = 'db', to = 'commits_per_s', amount = true },\n\
            { column = 'stalled', table = 'pressure', to = 'some', set = { resource = 'io' } },\n\
            { column = 'ops', metric = 'ops', unit = '/s', cumulative = true },\n\
            { column = 'lag', metric = 'delay', unit = 's', scale = 0.001 },\n]\n";
        let now = "set = { server = 'db1' }\n[columns]\n\
            'cpu core #<cpu>' = 'cpu.idle complement'\n'<device> read' = 'disk.read_bytes_per_s KiB/s'\n'<device> busy' = 'disk.util'\n\
            'lock ms' = 'db.row_lock_time ms total'\ncommits = 'db.commits_per_s /interval'\n\
            stalled = { to = 'pressure.some', set = { resource = 'io' } }\nops = 'metric.ops total'\nlag = 'metric.delay ms'\n";
        let (older, now) = (read(older, text), read(now, text));
        assert_eq!(older, now);
        assert!(!now.contains("# note"), "{now}");
        for row in
            ["\t0\t90\n", "\tsda\t5120\t50\n", "\tio\t3", "ops\tserver=db1\t5\t/s", "delay\tserver=db1\t0.001\ts"]
        {
            assert!(now.contains(row), "{row:?}\n{now}");
        }
    }

    #[test]
    fn what_is_wrong_in_them_is_a_note() {
        let found = read(
            "[columns]\nrkb = 'disk.reed_bytes KiB/s'\nx = 'result.throughput'\n",
            "time,rkb,x\n2026-11-21 14:00:00,1,2\n",
        );
        assert!(found.contains("line 2: column `rkb`:") && found.contains("no column `reed_bytes`"), "{found}");
        assert!(found.contains("line 3: column `x`: a row is a sample"), "{found}");
    }
}
