//! The gate before the engine: one statement that only reads, and calls only functions of a list.
//!
//! The engine's own parser is asked, never one of ours. `json_serialize_sql` gives the tree of every statement of
//! a text as long as all of them are SELECT (DESCRIBE, SHOW, SUMMARIZE and PIVOT are forms of it); their number
//! and every function's name are read from it. A PIVOT that finds its columns itself is the one statement that
//! the parser makes several of (it first makes a type of the values that it finds): such a text is known by being one
//! statement between parentheses as well.

use fenxi_worker::{Cell, Failure};

use crate::{
    connection::{Prepared, Statements},
    database::Database,
    ffi, functions,
};

/// The parser's error for statements without a tree.
const NOT_SELECT: &str = "Only SELECT statements";

/// Lets one reading statement through, or returns why not.
pub(crate) fn check(database: &Database<'_>, sql: &str) -> Result<(), Failure> {
    let tree = tree(database, sql)?;
    let tree = tree.as_str();
    if tree.contains(r#""error":true"#) && !tree.starts_with(r#"{"error":false"#) {
        return if tree.contains(NOT_SELECT) { pivot(database, sql) } else { prepared(database, sql, 1) };
    }
    let parts = functions::read(tree);
    match parts.statements {
        0 => return Err(Failure::Empty),
        1 => {}
        _ => return Err(Failure::Several),
    }
    if let Some(name) = parts.functions.iter().find(|name| !functions::is_allowed(name)) {
        return Err(Failure::Function(name.clone()));
    }
    if let Some((_, name)) = parts.tables.iter().find(|(schema, name)| !functions::may_read(schema, name)) {
        return Err(Failure::Function(name.clone()));
    }
    prepared(database, sql, 1)
}

/// The tree of one reading statement, as JSON; what does not read has none.
pub(crate) fn statement(database: &Database<'_>, sql: &str) -> Result<String, Failure> {
    let tree = tree(database, sql)?;
    if tree.starts_with(r#"{"error":false"#) {
        return Ok(tree);
    }
    if tree.contains(NOT_SELECT) {
        return Err(Failure::NotReadOnly);
    }
    // The parser reports where the mistake is.
    prepared(database, sql, 1)?;
    Err(Failure::Engine("the statement has no tree".to_owned()))
}

/// The parser's tree of a text, as JSON.
fn tree(database: &Database<'_>, sql: &str) -> Result<String, Failure> {
    let mut asked = database.con().prepare("SELECT json_serialize_sql($text::VARCHAR)::VARCHAR")?;
    asked.bind(&[("text", &Cell::Text(sql.to_owned()))])?;
    Ok(asked.rows()?.text()?)
}

/// A PIVOT of which the parser makes several statements: CREATE TYPE for what it finds, then SELECT.
fn pivot(database: &Database<'_>, sql: &str) -> Result<(), Failure> {
    let n = statements(database, sql)?.len();
    // Between parentheses only one query is allowed, whatever comments and quotes make of the text.
    let within = statements(database, &format!("SELECT * FROM (\n{sql}\n)"));
    if n < 2 {
        return Err(Failure::NotReadOnly);
    }
    if !within.is_ok_and(|within| within.len() == n) {
        return Err(Failure::Several);
    }
    // There is no tree to read, so whatever might be the name of a function is one.
    if let Some(name) = functions::refused_in(sql) {
        return Err(Failure::Function(name));
    }
    prepared(database, sql, n)
}

/// Prepares the last of `n` statements and asks the engine what it is; those before it are run.
fn prepared(database: &Database<'_>, sql: &str, n: u64) -> Result<(), Failure> {
    let statements = statements(database, sql)?;
    if statements.len() != n {
        return Err(Failure::Several);
    }
    for i in 0..n - 1 {
        let mut helper = statements.prepare(i)?;
        expect(&helper, ffi::CREATE)?;
        helper.run()?;
    }
    expect(&statements.prepare(n - 1)?, ffi::SELECT)
}

/// At least one statement, as the engine cuts a text.
fn statements<'a>(database: &'a Database<'_>, sql: &str) -> Result<Statements<'a>, Failure> {
    let statements = database.gate().statements(sql)?;
    if statements.len() > 0 { Ok(statements) } else { Err(Failure::Empty) }
}

fn expect(prepared: &Prepared<'_>, kind: ffi::StatementKind) -> Result<(), Failure> {
    if prepared.kind() == kind { Ok(()) } else { Err(Failure::NotReadOnly) }
}
