//! Statements without what is secret in them: every literal, in whatever way it is quoted, comments, and passwords.

use std::borrow::Cow;

use super::form;
use crate::secrets::is_secret_name;

/// The longest text of a statement that is looked at.
const MAX_TEXT: usize = 16 << 10;

/// Quoting rules of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quotes {
    /// As PostgreSQL: `'it''s'`, `E'it\'s'`, `$$it's$$`; names are in double quotes.
    Standard,
    /// As MySQL and MariaDB: `'it\'s'`, and texts in double quotes.
    Backslash,
}

/// The normal form of a statement, in which no literal and no password is left.
pub fn hidden(text: &str, quotes: Quotes) -> String {
    hidden_of(text, quotes, false)
}

/// As [`hidden`], of a text of which the end may have been cut off.
pub fn hidden_of(text: &str, quotes: Quotes, was_cut: bool) -> String {
    let mut end = text.len().min(MAX_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let cut = was_cut || end < text.len();
    without_passwords(form(&without_texts(text.get(..end).unwrap_or(""), quotes), cut))
}

/// The statement with `?` for texts of every kind, without comments.
fn without_texts(text: &str, quotes: Quotes) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let standard = quotes == Quotes::Standard;
        let taken = match c {
            '-' if begins_comment(rest, standard) => blank(&mut out, rest.find('\n').unwrap_or(rest.len())),
            '#' if !standard => blank(&mut out, rest.find('\n').unwrap_or(rest.len())),
            '/' if rest.starts_with("/*") => blank(&mut out, comment(rest, standard)),
            '\'' => {
                let escapes = !standard || is_escaped(&out);
                value(&mut out, quoted(rest, '\'', escapes))
            }
            '"' if !standard => value(&mut out, quoted(rest, '"', true)),
            '"' | '`' => {
                let end = quoted(rest, c, false);
                out.push_str(rest.get(..end).unwrap_or(rest));
                end
            }
            '$' if standard && !ends_in_word(&out) => match dollars(rest) {
                Some(end) => value(&mut out, end),
                None => keep(&mut out, c),
            },
            _ => keep(&mut out, c),
        };
        rest = rest.get(taken..).unwrap_or("");
    }
    out
}

/// Whether two dashes begin a comment: in MySQL a blank has to follow.
fn begins_comment(rest: &str, standard: bool) -> bool {
    let behind = rest.strip_prefix("--");
    behind.is_some_and(|behind| standard || behind.starts_with(char::is_whitespace) || behind.is_empty())
}

/// The length of a comment in `/* */`, which PostgreSQL's can have inside of them.
fn comment(rest: &str, nests: bool) -> usize {
    let bytes = rest.as_bytes();
    let (mut at, mut depth) = (2, 1);
    while let Some(pair) = bytes.get(at..at + 2) {
        match pair {
            b"*/" => (depth, at) = (depth - 1, at + 2),
            b"/*" if nests => (depth, at) = (depth + 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

fn keep(out: &mut String, c: char) -> usize {
    out.push(c);
    c.len_utf8()
}

fn value(out: &mut String, taken: usize) -> usize {
    out.push('?');
    taken
}

fn blank(out: &mut String, taken: usize) -> usize {
    out.push(' ');
    taken
}

fn ends_in_word(out: &str) -> bool {
    out.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '$'))
}

/// Whether the text that comes has the `E` of escapes before it.
fn is_escaped(out: &str) -> bool {
    out.strip_suffix(['e', 'E']).is_some_and(|before| !ends_in_word(before))
}

/// The length of a text in quotes that are doubled inside; one that does not end goes to the end.
fn quoted(rest: &str, quote: char, escapes: bool) -> usize {
    let mut chars = rest.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c == '\\' && escapes {
            chars.next();
        } else if c == quote && chars.next_if(|(_, next)| *next == quote).is_none() {
            return at + c.len_utf8();
        }
    }
    rest.len()
}

/// The length of `$$ … $$` or `$tag$ … $tag$`; None for what is a placeholder.
fn dollars(rest: &str) -> Option<usize> {
    let tag = rest.get(1..)?.find('$')?;
    let mark = rest.get(..tag + 2)?;
    let inner = mark.trim_matches('$');
    let is_tag =
        inner.chars().all(|c| c.is_alphanumeric() || c == '_') && !inner.starts_with(|c: char| c.is_ascii_digit());
    if !is_tag {
        return None;
    }
    let end = rest.get(mark.len()..)?.find(mark);
    Some(end.map_or(rest.len(), |end| end + 2 * mark.len()))
}

/// Prefixes of statements in which a word behind `password` or `by` is a password.
const WITH_PASSWORDS: &[&str] = &[
    "alter database ",
    "alter role",
    "alter system ",
    "alter user",
    "change ",
    "create role",
    "create user",
    "grant ",
    "set ",
];

/// Passwords that somebody forgot to quote, or put in quotes of names.
fn without_passwords(form: String) -> String {
    if !WITH_PASSWORDS.iter().any(|begin| form.starts_with(begin)) {
        return form;
    }
    let mut hide = false;
    // A GRANT contains names of tables, which may be any.
    let has_names = !form.starts_with("grant ");
    let words: Vec<_> = words(&form)
        .map(|word| {
            if let Some((name, _)) =
                word.split_once('=').filter(|(name, value)| is_secret_name(name) && !value.is_empty())
            {
                hide = false;
                return Cow::Owned(format!("{name}=?"));
            }
            // Between a name and its secret: `password = x`, `identified by password x`.
            let joins = matches!(word, "=" | "to" | "by" | "password" | "password=");
            let shown = if hide && !joins { "?" } else { word };
            hide = if hide { joins } else { word == "by" || has_names && is_secret_name(word.trim_end_matches('=')) };
            Cow::Borrowed(shown)
        })
        .collect();
    words.join(" ")
}

/// Words between blanks; a name in double quotes is one with its blanks.
fn words(form: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(form);
    std::iter::from_fn(move || {
        let text = rest?;
        let mut is_name = false;
        let end = text.find(|c: char| {
            is_name ^= c == '"';
            c == ' ' && !is_name
        });
        rest = end.map(|end| &text[end + 1..]);
        Some(end.map_or(text, |end| &text[..end]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_is_left() {
        for text in [
            "alter role a password 'secret'",
            "alter role a password secret",
            "select 'a\\', 'secret'",
            "select E'a\\' secret', 1",
            "select $$secret$$, $t$ 'secret' $$ $t$",
            "select 'x' -- 'secret'",
            "select 'secret",
            "select 1 /* secret */",
            "select 1 /* a /* b */ secret */",
            "alter role a password \"my secret\"",
            "set app.api_token = secret",
            "set app.password to secret",
            "alter database shop set app.password=secret",
        ] {
            let form = hidden(text, Quotes::Standard);
            assert!(!form.contains("secret"), "{text}: {form}");
        }
        for text in [
            "set password for 'a'@'%' = \"secret\"",
            "create user a@h identified by secret",
            "select \"it's secret\", 'it\\'s secret'",
            "select 1 # secret",
            "select 5--'\nsecret'",
            "grant all on *.* to a@h identified by secret",
        ] {
            let form = hidden(text, Quotes::Backslash);
            assert!(!form.contains("secret"), "{text}: {form}");
        }
        assert_eq!(
            hidden("SELECT \"A\" FROM t WHERE id = $1 AND n='it''s'", Quotes::Standard),
            "select \"A\" from t where id = ? and n=?"
        );
        assert_eq!(hidden("set search_path = a", Quotes::Standard), "set search_path = a");
        assert_eq!(hidden("grant select on token to a", Quotes::Standard), "grant select on token to a");
        assert_eq!(hidden("select a$b$c from t group by x", Quotes::Standard), "select a$b$c from t group by x");
    }
}
