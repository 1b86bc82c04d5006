//! Parser of the statements of a workload.
//!
//! `{expr}` is replaced by a number or word when the workload is compiled; `@{count|separator|text}` by that many
//! copies of a text; `:name` and `:{expr}` are values of each execution.

use std::collections::BTreeMap;

use super::{
    expr::Item,
    parse::{Names, expr, item},
};

/// Longer ones are somebody's mistake.
const MAX_COPIES: i64 = 100_000;

/// The pieces of a statement and the values between them.
pub fn statement(
    text: &str,
    names: &mut Names,
    words: &BTreeMap<String, String>,
) -> Result<(Vec<String>, Vec<Item>), String> {
    let text = expanded(text, names, words)?;
    let (mut pieces, mut values) = (Vec::new(), Vec::new());
    let mut piece = String::new();
    let mut rest = text.as_str();
    let mut quoted = false;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        match c {
            '\'' => quoted = !quoted,
            // A cast of PostgreSQL.
            ':' if after.starts_with(':') => {
                piece.push_str("::");
                rest = &after[1..];
                continue;
            }
            ':' if !quoted && after.starts_with('{') => {
                let (inside, behind) = braced(after)?;
                values.push(item(inside, names)?);
                pieces.push(std::mem::take(&mut piece));
                rest = behind;
                continue;
            }
            ':' if !quoted && after.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') => {
                let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
                values.push(item(&after[..end], names)?);
                pieces.push(std::mem::take(&mut piece));
                rest = &after[end..];
                continue;
            }
            _ => {}
        }
        piece.push(c);
        rest = after;
    }
    pieces.push(piece);
    Ok((pieces, values))
}

/// The text with what is constant put in.
pub fn expanded(text: &str, names: &mut Names, words: &BTreeMap<String, String>) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let (before, from) = rest.split_at(at);
        let (inside, behind) = braced(from)?;
        if let Some(before) = before.strip_suffix('@') {
            out.push_str(before);
            copies(inside, names, words, &mut out)?;
        } else if before.ends_with(':') {
            // A value of each execution: left as it is.
            out.push_str(before);
            out.push_str(&from[..from.len() - behind.len()]);
        } else {
            out.push_str(before);
            match words.get(inside) {
                Some(word) => out.push_str(word),
                None => out.push_str(&constant(inside, names)?.to_string()),
            }
        }
        rest = behind;
    }
    out.push_str(rest);
    Ok(out)
}

fn copies(inside: &str, names: &mut Names, words: &BTreeMap<String, String>, out: &mut String) -> Result<(), String> {
    let mut parts = inside.splitn(3, '|');
    let (Some(count), Some(separator), Some(text)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(format!("`@{{{inside}}}` is no `@{{count|separator|text}}`"));
    };
    let count = constant(count, names)?;
    if !(0..=MAX_COPIES).contains(&count) {
        return Err(format!("`@{{{inside}}}`: {count} copies; it can be 0 to {MAX_COPIES}"));
    }
    let text = expanded(text, names, words)?;
    for copy in 0..count {
        if copy > 0 {
            out.push_str(separator);
        }
        out.push_str(&text);
    }
    Ok(())
}

/// A number that is the same for all transactions.
pub fn constant(text: &str, names: &mut Names) -> Result<i64, String> {
    let value = expr(text, names)?;
    value
        .constant()
        .ok_or_else(|| format!("`{text}` is another number for each transaction, where a fixed one is wanted"))
}

/// The text in the braces that `text` begins with, and the text after them.
fn braced(text: &str) -> Result<(&str, &str), String> {
    let mut depth = 0_u32;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => continue,
        }
        if depth == 0 {
            return Ok((&text[1..at], &text[at + 1..]));
        }
    }
    Err(format!("`{text}`: `}}` is missing"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<(Vec<String>, Vec<Item>), String> {
        let mut names = Names { constants: [("n".to_owned(), 3)].into(), slots: vec!["id".to_owned()], draw: None };
        statement(text, &mut names, &[("engine".to_owned(), "InnoDB".to_owned())].into())
    }

    #[test]
    fn values_are_cut_out_and_constants_put_in() {
        let (pieces, values) =
            read("SELECT c::text, ':x' FROM sbtest{n} WHERE id = :id AND k < :{uniform(1, n)}").unwrap();
        assert_eq!(pieces, ["SELECT c::text, ':x' FROM sbtest3 WHERE id = ", " AND k < ", ""]);
        assert_eq!(values.len(), 2);
        assert_eq!(read("ENGINE={engine} @{n|, |x{n*2}}").unwrap().0, ["ENGINE=InnoDB x6, x6, x6"]);
        let (pieces, values) = read("IN (@{n|,|:{draw(1, n)}})").unwrap();
        assert_eq!((pieces.join("?"), values.len()), ("IN (?,?,?)".to_owned(), 3));
    }

    #[test]
    fn what_is_wrong_is_said() {
        assert!(read("{x}").unwrap_err().contains("unknown name `x`"));
        assert!(read("{id}").unwrap_err().contains("fixed one"));
        assert!(read("@{n|,}").unwrap_err().contains("count|separator|text"));
        assert!(read("@{0-1|,|x}").unwrap_err().contains("copies"));
        assert!(read("{n").unwrap_err().contains("missing"));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,40}") {
            let _ = read(&text);
        }
    }
}
