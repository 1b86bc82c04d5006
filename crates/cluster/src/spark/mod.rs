//! Our SQL in the words of Spark: what questions, findings and derived views say, for an engine of the protocol Spark Connect.
//!
//! Questions are written in DuckDB's SQL. Its own parser gives the tree of a statement ([`fenxi_worker::Request::Tree`]);
//! here the tree is written as text again, with the functions of [`functions`], and with everything said that the two
//! leave to different defaults: where NULL sorts, what a division by zero is, how texts are quoted. What has no
//! equal there is refused by name, never guessed.

mod expression;
mod functions;
mod select;

use fenxi_query::Value;
use serde_json::Value as Json;

pub(crate) use select::apart;

/// Why a statement has no equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unportable(pub String);

/// A text, or why there is none.
type Written = Result<String, Unportable>;

/// Writes the statement of `tree`, JSON as the parser gives it, with the values of its parameters.
pub(crate) fn write(tree: &str, params: &[(&str, Value)]) -> Written {
    let tree: Json = serde_json::from_str(tree).map_err(|e| refuse(&format!("its tree is malformed: {e}")))?;
    let statements = list(&tree, "statements");
    match statements {
        [statement] => Writer { params }.query(&statement["node"], Place::Outermost),
        _ => Err(refuse("there must be one statement that only reads")),
    }
}

/// Where a query stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Its columns are the answer's.
    Outermost,
    /// Its columns are chosen from by name.
    Within,
}

/// Writes one statement.
struct Writer<'a> {
    params: &'a [(&'a str, Value)],
}

fn refuse(what: &str) -> Unportable {
    Unportable(what.to_owned())
}

/// A member that is a text; empty where there is none.
fn word<'a>(node: &'a Json, member: &str) -> &'a str {
    node[member].as_str().unwrap_or_default()
}

/// A member that is a list; empty where there is none.
fn list<'a>(node: &'a Json, member: &str) -> &'a [Json] {
    node[member].as_array().map_or(&[], Vec::as_slice)
}

/// Whether a member is there and is true.
fn is(node: &Json, member: &str) -> bool {
    node[member].as_bool().unwrap_or(false)
}

/// A name as Spark reads it whatever it is.
pub(crate) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A text as Spark reads it: a doubled quote is not the same to all servers of the protocol.
pub(crate) fn literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('\'');
    for c in text.chars() {
        match c {
            '\'' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0' => out.push_str("\\0"),
            other => out.push(other),
        }
    }
    out.push('\'');
    out
}

#[cfg(test)]
mod tests;
