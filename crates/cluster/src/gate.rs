//! The gate before a cluster: a statement in its own SQL is sent as a query or not at all.
//!
//! Between parentheses after FROM only a query is allowed, whatever the text is: a command, or a second statement, is an
//! error of the server's own parser. What a query can do besides reading is known by name: functions that call any
//! code, read any file or start a program. Spark is asked for the plan first, in which each function has its own name
//! however the statement spelled it ([`looked_through`]); words of the text are the first look, and the only one for other
//! servers. Reading other tables of the cluster is the cluster's own affair.

use fenxi_query::{
    QueryError,
    backend::{Token, tokens},
};

/// Functions that call code of the server by its name, or reveal its internals.
const REFUSED: [&str; 9] = [
    "ai_query",
    "current_user",
    "java_method",
    "read_files",
    "reflect",
    "session_user",
    "try_reflect",
    "user",
    "http_request",
];
/// The prefix of a dot and a path where a file is read as a table.
const FORMATS: [&str; 8] = ["avro", "binaryfile", "csv", "delta", "json", "orc", "parquet", "text"];

/// The statement as a query within another one.
pub(crate) fn wrapped(sql: &str) -> Result<String, QueryError> {
    if has_path(sql) {
        return Err(QueryError::Function("a path as a table, or a name with a slash".to_owned()));
    }
    let tokens = tokens(sql);
    let name = |i: usize| match tokens.get(i) {
        Some((_, Token::Name(name))) => name.as_str(),
        _ => "",
    };
    let is = |i: usize, wanted: char| matches!(tokens.get(i), Some((_, Token::Other(c))) if *c == wanted);
    for i in 0..tokens.len() {
        if REFUSED.contains(&name(i)) && is(i + 1, '(') {
            return Err(QueryError::Function(name(i).to_owned()));
        }
        // Names in backticks, which Spark has, come as characters.
        if FORMATS.contains(&name(i)) && (is(i + 1, '.') || is(i + 1, '`') && is(i + 2, '.')) && is_path(&tokens, i) {
            return Err(QueryError::Function(format!("{}.`path`", name(i))));
        }
        // TRANSFORM (…) USING 'program': the only use of this word with a text behind it.
        if name(i) == "using" && is(i + 1, '\'') {
            return Err(QueryError::Function("TRANSFORM … USING".to_owned()));
        }
    }
    Ok(format!("SELECT * FROM (\n{sql}\n)"))
}

/// Whether anything between two backticks looks like a path, wherever these are: servers do not agree on where a text or a
/// comment ends.
fn has_path(sql: &str) -> bool {
    sql.split('`').skip(1).any(|name| {
        name.starts_with('/') || name.contains("://") || name.contains('/') && !name.contains(char::is_whitespace)
    })
}

/// Nodes of a Spark plan that call code, programs or other machines.
const CALLS: [&str; 8] = [
    "ai_query(",
    "http_request(",
    "java_method(",
    "read_files(",
    "reflect(",
    "remote_query(",
    "ScriptTransformation",
    "try_reflect(",
];

/// Whether the plan of a statement, in Spark's extended form, only reads tables.
///
/// It shows texts of the statement without their quotes: one that looks like such a call is refused too.
pub(crate) fn looked_through(plan: &str) -> Result<(), QueryError> {
    // Cut short it would not show everything.
    let is_whole = ["== Analyzed Logical Plan ==", "== Physical Plan =="].iter().all(|part| plan.contains(part));
    if !is_whole {
        return Err(QueryError::Cluster("the cluster does not show the whole plan of the statement".to_owned()));
    }
    let begins = |at: usize| !plan[..at].ends_with(|c: char| c == '_' || c.is_alphanumeric());
    let is_call = |call: &&&str| plan.match_indices(**call).any(|(at, _)| begins(at));
    match CALLS.iter().find(is_call) {
        Some(call) => Err(QueryError::Function(call.trim_end_matches('(').to_owned())),
        None => Ok(()),
    }
}

/// Whether what follows the dot after token `i` is quoted, as a path must be.
fn is_path(tokens: &[(usize, Token)], i: usize) -> bool {
    let quote = |token: &(usize, Token)| matches!(token.1, Token::Other('`'));
    tokens.get(i + 2).is_some_and(quote) || tokens.get(i + 3).is_some_and(quote)
}

#[cfg(test)]
mod tests {
    use super::{looked_through, wrapped};

    #[test]
    fn a_plan_tells_calls_by_their_own_names() {
        let plan = |what: &str| {
            format!(
                "== Analyzed Logical Plan ==\nProject [{what}]\n+- OneRowRelation\n\n== Physical Plan ==\n*(1) Project"
            )
        };
        for what in ["reflect(java.lang.System, exit, 0, true) AS a#1", "try_reflect(x, y)", "java_method(a, b, true)"]
        {
            assert!(looked_through(&plan(what)).is_err(), "{what}");
        }
        for what in ["usr#1 AS reflect#2", "reflected(x)", "sum(user#1)"] {
            assert!(looked_through(&plan(what)).is_ok(), "{what}");
        }
        assert!(looked_through("== Analyzed Logical Plan ==\n... 1 more").is_err());
    }

    #[test]
    fn a_query_is_wrapped_and_what_is_more_is_refused() {
        assert_eq!(wrapped("SELECT 1 -- x").unwrap(), "SELECT * FROM (\nSELECT 1 -- x\n)");
        for sql in [
            "SELECT reflect('java.lang.System', 'exit', 1)",
            "SELECT java_method /**/ ('a', 'b')",
            "SELECT * FROM parquet.`/etc/x`",
            "SELECT * FROM text . `/etc/passwd`",
            "SELECT * FROM `csv`.`/etc/passwd`",
            "SELECT * FROM `org.example.Text`.`/etc/passwd`",
            r"SELECT '\'', * FROM text.`/etc/passwd`, (SELECT '\'')",
            "SELECT '`', * FROM xml.`s3a://a/b c`",
            "SELECT TRANSFORM (a) USING 'sh' AS b FROM cpu",
        ] {
            assert!(wrapped(sql).is_err(), "{sql}");
        }
        for sql in [
            "SELECT transform(l, x -> x + 1) FROM t JOIN u USING (run)",
            "SELECT text.value FROM text",
            "SELECT user FROM process",
            "SELECT `usr` / `idle` FROM cpu",
        ] {
            assert!(wrapped(sql).is_ok(), "{sql}");
        }
    }
}
