//! The functions that the engine has, by its own catalogue; those that it hides are known from a list.
//!
//! A server may hide its catalogue. It is attacked with all of it the same: [`KNOWN`] is the engine's list as it was once, and
//! `fenxi-adversary --functions` writes it anew.

use std::collections::BTreeSet;

use super::served::Served;

/// Asks the engine; one row for each signature.
const ASK: &str = "SELECT DISTINCT function_name || chr(9) || function_type || chr(9) || \
                   array_to_string(list_transform(list_zip(parameters, parameter_types), \
                   lambda p: coalesce(p[1], '') || ':' || coalesce(p[2], 'ANY')), ';') AS line \
                   FROM duckdb_functions() ORDER BY line";

/// The engine's list as it was once: a line for each signature, at most a few of a function.
const KNOWN: &str = include_str!("functions.txt");

/// Signatures of one function of one kind that are kept.
const SIGNATURES: usize = 8;

/// How a function is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// In an expression.
    Scalar,
    /// In an expression, over rows.
    Aggregate,
    /// After FROM.
    Table,
    /// After PRAGMA or CALL.
    Pragma,
}

/// One signature.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// How it is called.
    pub kind: Kind,
    /// Names and types of its parameters.
    pub params: Vec<(String, String)>,
}

/// All functions, and how many signatures the server listed.
pub fn all(served: &Served) -> (Vec<Function>, usize) {
    let told = told(served);
    let lines: BTreeSet<&str> = KNOWN.lines().chain(told.iter().map(String::as_str)).collect();
    (lines.into_iter().filter_map(parse).collect(), told.len())
}

/// The lines that a server lists, at most a few of a function; none when it hides them.
pub fn told(served: &Served) -> Vec<String> {
    let body = serde_json::json!({ "q": ASK, "limit": 100_000 }).to_string();
    let rows = served.change("POST", "/api/v1/sql", body.as_bytes()).rows();
    let lines = rows.iter().filter_map(|row| row.first()?.as_str().map(str::to_owned));
    let mut last = (String::new(), 0);
    let few = |line: &String| {
        let key = line.rsplit_once('\t').map_or("", |(key, _)| key);
        last = if last.0 == key { (last.0.clone(), last.1 + 1) } else { (key.to_owned(), 1) };
        last.1 <= SIGNATURES
    };
    lines.filter(few).collect()
}

fn parse(line: &str) -> Option<Function> {
    let mut parts = line.split('\t');
    let (name, kind, params) = (parts.next()?, parts.next()?, parts.next().unwrap_or_default());
    let kind = match kind {
        "scalar" | "macro" => Kind::Scalar,
        "aggregate" => Kind::Aggregate,
        "table" | "table_macro" => Kind::Table,
        _ => Kind::Pragma,
    };
    let param = |p: &str| p.split_once(':').map(|(n, t)| (n.to_owned(), t.to_owned()));
    Some(Function { name: name.to_owned(), kind, params: params.split(';').filter_map(param).collect() })
}
