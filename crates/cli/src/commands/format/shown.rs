//! How a text and what becomes of it are shown: side by side, in the width of the terminal, or as JSON.

use std::collections::BTreeMap;

use fenxi_formats::account::{Account, Line, LineRule, RowRead, tables_of};
use fenxi_model::{visible, visible_lines};
use serde_json::{Map, Value, json};

use crate::{print, progress::plural};

/// Lines that are shown of those that are read the same way.
const ALIKE: usize = 3;
/// Lines that nothing reads that are shown.
const UNREAD: usize = 30;
/// Rows of one line that are shown.
const ROWS: usize = 8;

/// The result of a trial, to be shown.
pub struct Reading<'a> {
    /// How the text was read.
    pub account: &'a Account,
    /// The format that was tried.
    pub format: &'static str,
    /// Where parts of the description begin, as far as it is a file.
    pub parts: &'a BTreeMap<&'static str, Vec<usize>>,
    /// Whether all lines are shown.
    pub all: bool,
}

impl Reading<'_> {
    /// A row for each line, and for each row that it gives.
    pub fn text(&self) -> String {
        let mut rows: Vec<Vec<String>> = Vec::new();
        let mut shown: BTreeMap<String, usize> = BTreeMap::new();
        let mut left_out = 0;
        let before: Vec<&RowRead> = self.account.rows.iter().filter(|row| row.line == 0).collect();
        before.iter().take(ROWS).for_each(|row| rows.push(cells("", "", row.format, &values_of(row))));
        for line in self.account.lines.iter().filter(|line| !line.text.trim().is_empty()) {
            let kind = self.kind(line);
            let (n, most) = (shown.entry(kind).or_default(), if line.notes.is_empty() { ALIKE } else { UNREAD });
            *n += 1;
            if *n > most && !self.all {
                left_out += 1;
                continue;
            }
            gap(&mut left_out, &mut rows);
            self.line(line, &mut rows);
        }
        gap(&mut left_out, &mut rows);
        print::listing(&["line", "text", "read by", "gives"], &[0], &[], &rows)
    }

    /// Common key of lines that are read the same way.
    fn kind(&self, line: &Line) -> String {
        let tables: Vec<&str> = line.rows.iter().map(|row| self.account.rows[*row].table.name).collect();
        let rule = line.rule.as_ref().filter(|rule| !matches!(rule, LineRule::Pair(_)));
        format!("{rule:?} {} {}", tables.first().unwrap_or(&""), line.notes.is_empty())
    }

    fn line(&self, line: &Line, rows: &mut Vec<Vec<String>>) {
        let number = line.number.to_string();
        let mut values: Vec<String> =
            line.rows.iter().take(ROWS).map(|row| values_of(&self.account.rows[*row])).collect();
        if line.rows.len() > ROWS {
            values.push(format!("… and {}", plural((line.rows.len() - ROWS) as u64, "row")));
        }
        values.extend(line.notes.iter().map(|note| format!("! {}", without(note, &line.text))));
        let by = self.read_by(line);
        let text = visible(&line.text.replace('\t', " ")).into_owned();
        let mut values = values.into_iter();
        rows.push(cells(&number, text.trim_end(), &by, &values.next().unwrap_or_default()));
        values.for_each(|values| rows.push(cells("", "", "", &values)));
    }

    /// Reader of a line: a rule of the description, another format in a text of several, or nothing.
    fn read_by(&self, line: &Line) -> String {
        if let Some(rule) = &line.rule {
            return self.rule(rule);
        }
        match (line.rows.first(), line.notes.is_empty()) {
            (Some(row), _) => self.account.rows[*row].format.to_owned(),
            (None, false) => "nothing".to_owned(),
            (None, true) => String::new(),
        }
    }

    fn rule(&self, rule: &LineRule) -> String {
        let at = |kind: &str, nth: usize| match self.parts.get(kind).and_then(|lines| lines.get(nth - 1)) {
            Some(line) => format!("{kind} :{line}"),
            None => format!("{kind} {nth}"),
        };
        match rule {
            LineRule::Pattern(nth) => at("[[line]]", *nth),
            LineRule::Header(nth) => at("[[table]]", *nth),
            LineRule::Pair(key) => format!("[pairs] {}", visible(key)),
            LineRule::Ignored(_) => "ignore".to_owned(),
        }
    }

    /// An object for each line, with its rows, and one for the whole.
    pub fn json(&self, file: &str, import: Option<&str>) -> String {
        let mut text = String::new();
        for line in &self.account.lines {
            let rows: Vec<Value> = line.rows.iter().map(|row| object(&self.account.rows[*row])).collect();
            let by = Some(self.read_by(line)).filter(|by| !by.is_empty() && by != "nothing");
            let object = json!({
                "line": line.number, "text": line.text, "read_by": by, "rows": rows, "notes": line.notes,
            });
            text.push_str(&format!("{object}\n"));
        }
        let tally = &self.account.tally;
        let rows: Vec<Value> = self.account.rows.iter().filter(|row| row.line == 0).map(object).collect();
        let whole = json!({
            "file": file, "format": self.format, "recognised_as": import, "lines": self.account.lines.len(),
            "unread": self.account.unread().count(), "rows": self.account.rows.len(), "rows_of_no_line": rows,
            "notes": tally.notes, "assumptions": tally.assumptions, "remarks": self.account.remarks,
        });
        format!("{text}{whole}\n")
    }
}

fn object(row: &RowRead) -> Value {
    let mut object: Map<String, Value> =
        row.cells.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    object.insert("table".to_owned(), json!(row.table_name()));
    Value::Object(object)
}

fn cells(number: &str, text: &str, by: &str, values: &str) -> Vec<String> {
    [number, text, by, values].map(str::to_owned).to_vec()
}

/// Adds a row with how many lines were left out since the last one that is shown.
fn gap(left_out: &mut usize, rows: &mut Vec<Vec<String>>) {
    if *left_out > 0 {
        let lines = plural(*left_out as u64, "line");
        rows.push(cells("…", &format!("{lines} read as those above"), "", ""));
        *left_out = 0;
    }
}

/// A row in one line: its table, then its values.
fn values_of(row: &RowRead) -> String {
    let plain = |value: &Value| match value {
        Value::String(text) => visible(text).into_owned(),
        Value::Number(number) => number.as_f64().map_or_else(|| number.to_string(), short),
        other => other.to_string(),
    };
    let cell = |name: &str| row.cells.iter().find(|(known, _)| *known == name).map(|(_, value)| plain(value));
    // Metrics and results have the order in which people say them: name, labels, value, unit.
    if matches!(row.table.name, "metric" | "result") {
        let labels = cell("labels").map_or_else(String::new, |labels| format!("{{{labels}}}"));
        let unit = cell("unit").map_or_else(String::new, |unit| format!(" {unit}"));
        let name = format!("{}{labels}", cell("name").unwrap_or_default());
        return format!("{} {name} {}{unit}", row.table_name(), cell("value").unwrap_or_else(|| "-".to_owned()));
    }
    let cells: Vec<String> = row.says().map(|(name, value)| format!("{name}={}", plain(value))).collect();
    format!("{} {}", row.table_name(), cells.join(" "))
}

/// A number to 12 significant digits: the last bit of a product does not matter.
fn short(value: f64) -> String {
    let rounded: f64 = format!("{value:.11e}").parse().unwrap_or(value);
    rounded.to_string()
}

/// A note without the line that it repeats.
fn without(note: &str, line: &str) -> String {
    let line = line.trim();
    let cut = note.find(line).filter(|_| !line.is_empty()).map_or(note, |at| &note[..at]);
    let cut = cut.trim_end_matches([':', ' ']);
    visible(if cut.is_empty() { note } else { cut }).into_owned()
}

/// How much of a text was read, in a line or two.
pub fn summary(file: &str, name: &str, account: &Account) -> String {
    let lines = account.lines.iter().filter(|line| !line.text.trim().is_empty()).count() as u64;
    let unread = account.unread().count() as u64;
    let tables: Vec<&str> = tables_of(&account.rows).iter().map(|table| table.name).collect();
    let of = if tables.is_empty() { String::new() } else { format!(" of {}", tables.join(", ")) };
    let read = match unread {
        0 => format!("all of {} read", plural(lines, "line")),
        unread => format!("{unread} of {} not read, marked `!`", plural(lines, "line")),
    };
    let rows = plural(account.rows.len() as u64, "row");
    let remarks: String = account.remarks.iter().map(|remark| format!("{}\n", visible_lines(remark))).collect();
    format!("{} as {name}: {rows}{of}; {read}\n{remarks}", visible(file))
}
