//! Sentence template of a finding: placeholders `{column}`, `{column:unit}` or `{column:one|many}`, filled from one row. What is between
//! `[` and `]` is left out where a column in it has no value.

use std::fmt;

use arrow_schema::DataType;
use fenxi_model::Unit;
use serde_json::Value;

use crate::Answer;

/// A database server whose name is not known.
const NO_SERVER: &str = "the server";

/// A sentence with places.
#[derive(Clone, Debug)]
pub(super) struct Message(Vec<Piece>);

#[derive(Clone, Debug)]
enum Piece {
    Text(String),
    Column {
        name: String,
        form: Form,
    },
    /// Only where all columns in it have a value.
    Optional(Vec<Piece>),
}

/// How a value is written.
#[derive(Clone, Debug)]
enum Form {
    /// As its column is.
    Plain,
    Unit(Unit),
    /// A count, with the word for one and for several.
    Counted {
        one: String,
        many: String,
    },
}

impl Message {
    /// Reads `text`; what is wrong as a message.
    pub(super) fn parse(text: &str) -> Result<Message, String> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('[') {
            let (inner, next) = after.split_once(']').ok_or("a `[` of the sentence has no `]`")?;
            pieces.extend(places(before)?);
            pieces.push(Piece::Optional(places(inner)?));
            rest = next;
        }
        pieces.extend(places(rest)?);
        Ok(Message(pieces))
    }

    /// The columns that it wants.
    pub(super) fn columns(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(Piece::columns)
    }

    /// The sentence for `row`; a column that is not there is filled as a missing value is.
    pub(super) fn fill(&self, columns: &Columns, row: usize) -> String {
        let sentence: String = self.0.iter().map(|piece| piece.fill(columns, row)).collect();
        match sentence.strip_prefix(NO_SERVER) {
            Some(rest) => format!("The server{rest}"),
            None => sentence,
        }
    }
}

/// The text and the places of a part of a sentence.
fn places(text: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (place, next) = after.split_once('}').ok_or("message: a `{` has no `}`")?;
        let (name, form) = match place.split_once(':') {
            None => (place, Form::Plain),
            Some((name, form)) => (name, form_of(form)?),
        };
        if name.trim().is_empty() {
            return Err("message: `{}` names no column".to_owned());
        }
        pieces.push(Piece::Text(before.to_owned()));
        pieces.push(Piece::Column { name: name.trim().to_owned(), form });
        rest = next;
    }
    pieces.push(Piece::Text(rest.to_owned()));
    Ok(pieces)
}

fn form_of(text: &str) -> Result<Form, String> {
    if let Some((one, many)) = text.split_once('|') {
        return Ok(Form::Counted { one: one.to_owned(), many: many.to_owned() });
    }
    match Unit::from_symbol(text) {
        Unit::None => Err(format!("message: `{text}` is not a unit, as `%`, `B`, `B/s`, `/s`, `s`, `ms`")),
        unit => Ok(Form::Unit(unit)),
    }
}

impl Piece {
    fn columns(&self) -> Vec<&str> {
        match self {
            Piece::Text(_) => Vec::new(),
            Piece::Column { name, .. } => vec![name],
            Piece::Optional(pieces) => pieces.iter().flat_map(Piece::columns).collect(),
        }
    }

    fn fill(&self, columns: &Columns, row: usize) -> String {
        match self {
            Piece::Text(text) => text.clone(),
            // An import of one server's counters has no address of it.
            Piece::Column { name, form } => match (columns.show(name, form, row), name.as_str()) {
                (None, "server") => NO_SERVER.to_owned(),
                (Some(shown), "server" | "name") if shown.is_empty() => NO_SERVER.to_owned(),
                (shown, _) => shown.unwrap_or_else(|| "(unknown)".to_owned()),
            },
            Piece::Optional(pieces) => match self.columns().iter().all(|name| columns.has(name, row)) {
                true => pieces.iter().map(|piece| piece.fill(columns, row)).collect(),
                false => String::new(),
            },
        }
    }
}

impl fmt::Display for Piece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Piece::Text(text) => f.write_str(text),
            Piece::Column { name, form: Form::Plain } => write!(f, "{{{name}}}"),
            Piece::Column { name, form: Form::Unit(unit) } => write!(f, "{{{name}:{}}}", unit.symbol()),
            Piece::Column { name, form: Form::Counted { one, many } } => write!(f, "{{{name}:{one}|{many}}}"),
            Piece::Optional(pieces) => {
                f.write_str("[")?;
                pieces.iter().try_for_each(|piece| piece.fmt(f))?;
                f.write_str("]")
            }
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|piece| piece.fmt(f))
    }
}

/// An answer's columns, ready to be shown row by row.
pub(super) struct Columns(Vec<Column>);

struct Column {
    name: String,
    unit: Unit,
    values: Values,
}

enum Values {
    Whole(Vec<Option<f64>>),
    Number(Vec<Option<f64>>),
    Text(Vec<Option<String>>),
}

impl Columns {
    pub(super) fn from_answer(answer: &Answer) -> Columns {
        let column = |c: &crate::AnswerColumn| Column {
            name: c.name.clone(),
            unit: c.unit,
            values: match &c.ty {
                ty if ty.is_integer() || matches!(ty, DataType::Decimal128(_, 0)) => {
                    Values::Whole(answer.f64s(&c.name))
                }
                ty if ty.is_numeric() => Values::Number(answer.f64s(&c.name)),
                _ => Values::Text(answer.strings(&c.name)),
            },
        };
        Columns(answer.columns.iter().map(column).collect())
    }

    /// Whether the column `name` has a value in `row`.
    fn has(&self, name: &str, row: usize) -> bool {
        self.show(name, &Form::Plain, row).is_some_and(|shown| !shown.is_empty())
    }

    /// The value of the column `name`; None where there is none.
    fn show(&self, name: &str, form: &Form, row: usize) -> Option<String> {
        let column = self.0.iter().find(|column| column.name == name)?;
        let number = |values: &[Option<f64>]| values.get(row).copied().flatten();
        match (&column.values, form) {
            (Values::Whole(v) | Values::Number(v), Form::Counted { one, many }) => {
                let n = number(v)?.round();
                Some(format!("{n:.0} {}", if n == 1.0 { one } else { many }))
            }
            // A count or a process id is written out; it is scaled only when the sentence names a unit.
            (Values::Whole(v), Form::Plain) => number(v).map(|v| format!("{v:.0}")),
            (Values::Whole(v) | Values::Number(v), Form::Unit(unit)) => number(v).map(|v| unit.human(v).to_string()),
            (Values::Number(v), Form::Plain) => number(v).map(|v| column.unit.human(v).to_string()),
            (Values::Text(v), _) => v.get(row)?.as_deref().map(one_line),
        }
    }

    /// Every column of `row` but those that every finding has.
    pub(super) fn evidence(&self, row: usize) -> Vec<(String, Value)> {
        let value = |c: &Column| match &c.values {
            Values::Whole(v) => v.get(row).copied().flatten().map_or(Value::Null, |v| Value::from(v as i64)),
            Values::Number(v) => v.get(row).copied().flatten().map_or(Value::Null, Value::from),
            Values::Text(v) => v.get(row).cloned().flatten().map_or(Value::Null, Value::from),
        };
        let own = |c: &&Column| !["run", "host", "severity"].contains(&c.name.as_str());
        self.0.iter().filter(own).map(|c| (c.name.clone(), value(c))).collect()
    }
}

/// Text from a run within a sentence: names of files and commands may hold anything.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::Message;

    #[test]
    fn a_sentence_is_read_with_its_places() {
        let message = Message::parse("CPU {cpu} was busy {busy:%} of the time.").unwrap();
        assert_eq!(message.columns().collect::<Vec<_>>(), ["cpu", "busy"]);
        assert_eq!(message.to_string(), "CPU {cpu} was busy {busy:%} of the time.");
    }

    #[test]
    fn a_sentence_keeps_what_is_optional_and_what_is_counted() {
        let text = "[On {server} ]{n:error|errors}, {share:%} of all[, with {left:B} left].";
        let message = Message::parse(text).unwrap();
        assert_eq!(message.to_string(), text);
        assert_eq!(message.columns().collect::<Vec<_>>(), ["server", "n", "share", "left"]);
        assert_eq!(Message::parse("a[b").unwrap_err(), "a `[` of the sentence has no `]`");
    }

    #[test]
    fn a_wrong_place_is_named() {
        assert_eq!(Message::parse("{cpu").unwrap_err(), "message: a `{` has no `}`");
        assert!(Message::parse("{cpu:furlong}").unwrap_err().contains("`furlong` is not a unit"));
        assert!(Message::parse("{}").is_err());
    }
}
