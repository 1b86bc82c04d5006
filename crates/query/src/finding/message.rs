//! Sentence template of a finding: placeholders `{column}` or `{column:unit}`, filled from one row.

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
    Column { name: String, unit: Option<Unit> },
}

impl Message {
    /// Reads `text`; what is wrong as a message.
    pub(super) fn parse(text: &str) -> Result<Message, String> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let (place, next) = after.split_once('}').ok_or("message: a `{` has no `}`")?;
            let (name, unit) = match place.split_once(':') {
                None => (place, None),
                Some((name, symbol)) => match Unit::from_symbol(symbol) {
                    Unit::None => {
                        return Err(format!("message: `{symbol}` is not a unit, as `%`, `B`, `B/s`, `/s`, `s`, `ms`"));
                    }
                    unit => (name, Some(unit)),
                },
            };
            if name.trim().is_empty() {
                return Err("message: `{}` names no column".to_owned());
            }
            pieces.push(Piece::Text(before.to_owned()));
            pieces.push(Piece::Column { name: name.trim().to_owned(), unit });
            rest = next;
        }
        pieces.push(Piece::Text(rest.to_owned()));
        Ok(Message(pieces))
    }

    /// The columns that it wants.
    pub(super) fn columns(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Column { name, .. } => Some(name.as_str()),
            Piece::Text(_) => None,
        })
    }

    /// The sentence for `row`; a column that is not there is filled as a missing value is.
    pub(super) fn fill(&self, columns: &Columns, row: usize) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Column { name, unit } => columns.show(name, *unit, row),
        };
        let sentence: String = self.0.iter().map(piece).collect();
        match sentence.strip_prefix(NO_SERVER) {
            Some(rest) => format!("The server{rest}"),
            None => sentence,
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => f.write_str(text)?,
                Piece::Column { name, unit: Some(unit) } => write!(f, "{{{name}:{}}}", unit.symbol())?,
                Piece::Column { name, unit: None } => write!(f, "{{{name}}}")?,
            }
        }
        Ok(())
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

    fn show(&self, name: &str, unit: Option<Unit>, row: usize) -> String {
        let shown = self.0.iter().find(|c| c.name == name).and_then(|column| match &column.values {
            // A count or a process id is written out; it is scaled only when the sentence names a unit.
            Values::Whole(v) if unit.is_none() => v.get(row).copied().flatten().map(|v| format!("{v:.0}")),
            Values::Whole(v) | Values::Number(v) => {
                let unit = unit.unwrap_or(column.unit);
                v.get(row).copied().flatten().map(|v| unit.human(v).to_string())
            }
            Values::Text(v) => v.get(row).cloned().flatten().map(|v| one_line(&v)),
        });
        match (shown, name) {
            // An import of one server's counters has no address of it.
            (None, "server") => NO_SERVER.to_owned(),
            (Some(shown), "server" | "name") if shown.is_empty() => NO_SERVER.to_owned(),
            (shown, _) => shown.unwrap_or_else(|| "(unknown)".to_owned()),
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
    fn a_wrong_place_is_named() {
        assert_eq!(Message::parse("{cpu").unwrap_err(), "message: a `{` has no `}`");
        assert!(Message::parse("{cpu:furlong}").unwrap_err().contains("`furlong` is not a unit"));
        assert!(Message::parse("{}").is_err());
    }
}
