//! The gate before a cluster: a statement of its own SQL is sent as a query or not at all.
//!
//! Between parentheses behind FROM nothing but a query can stand, whatever the text is: a command, or a second statement, is an
//! error of the server's own parser. What a query can do besides reading is known by name: functions that call any
//! code, read any file or start a program. Reading other tables of the cluster is the cluster's own affair.

use crate::{
    QueryError,
    lex::{Token, tokens},
};

/// Functions that call code of the server by its name, or tell what is nobody's business.
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
/// What stands before a dot and a path where a file is read as a table.
const FORMATS: [&str; 8] = ["avro", "binaryfile", "csv", "delta", "json", "orc", "parquet", "text"];

/// The statement as a query within another one.
pub(super) fn wrapped(sql: &str) -> Result<String, QueryError> {
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

/// Whether what follows the dot after token `i` is quoted, as a path must be.
fn is_path(tokens: &[(usize, Token)], i: usize) -> bool {
    let quote = |token: &(usize, Token)| matches!(token.1, Token::Other('`'));
    tokens.get(i + 2).is_some_and(quote) || tokens.get(i + 3).is_some_and(quote)
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn a_query_is_wrapped_and_what_is_more_is_refused() {
        assert_eq!(wrapped("SELECT 1 -- x").unwrap(), "SELECT * FROM (\nSELECT 1 -- x\n)");
        for sql in [
            "SELECT reflect('java.lang.System', 'exit', 1)",
            "SELECT java_method /**/ ('a', 'b')",
            "SELECT * FROM parquet.`/etc/x`",
            "SELECT * FROM text . `/etc/passwd`",
            "SELECT * FROM `csv`.`/etc/passwd`",
            "SELECT TRANSFORM (a) USING 'sh' AS b FROM cpu",
        ] {
            assert!(wrapped(sql).is_err(), "{sql}");
        }
        for sql in [
            "SELECT transform(l, x -> x + 1) FROM t JOIN u USING (run)",
            "SELECT text.value FROM text",
            "SELECT user FROM process",
        ] {
            assert!(wrapped(sql).is_ok(), "{sql}");
        }
    }
}
