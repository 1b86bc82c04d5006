//! Statements without what is secret in them: every literal, in whatever way it is quoted, comments, and passwords.

use super::form;

/// The longest text of a statement that is looked at.
const MAX_TEXT: usize = 16 << 10;

/// How a server writes texts.
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
            '-' if rest.starts_with("--") => blank(&mut out, rest.find('\n').unwrap_or(rest.len())),
            '#' if !standard => blank(&mut out, rest.find('\n').unwrap_or(rest.len())),
            '/' if rest.starts_with("/*") => {
                let end = rest.find("*/").map_or(rest.len(), |at| at + 2);
                blank(&mut out, end)
            }
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

/// What begins statements in which a word behind `password` or `by` is one.
const WITH_PASSWORDS: &[&str] = &["create role", "create user", "alter role", "alter user", "set password", "grant "];

/// Passwords that somebody forgot to quote.
fn without_passwords(form: String) -> String {
    if !WITH_PASSWORDS.iter().any(|begin| form.starts_with(begin)) {
        return form;
    }
    let mut hide = false;
    let words: Vec<&str> = form
        .split(' ')
        .map(|word| {
            let announces = matches!(word, "password" | "by" | "=" | "password=");
            let shown = if hide && !announces { "?" } else { word };
            hide = announces;
            shown
        })
        .collect();
    words.join(" ")
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
        ] {
            let form = hidden(text, Quotes::Standard);
            assert!(!form.contains("secret"), "{text}: {form}");
        }
        for text in [
            "set password for 'a'@'%' = \"secret\"",
            "create user a@h identified by secret",
            "select \"it's secret\", 'it\\'s secret'",
            "select 1 # secret",
        ] {
            let form = hidden(text, Quotes::Backslash);
            assert!(!form.contains("secret"), "{text}: {form}");
        }
        assert_eq!(
            hidden("SELECT \"A\" FROM t WHERE id = $1 AND n='it''s'", Quotes::Standard),
            "select \"A\" from t where id = ? and n=?"
        );
        assert_eq!(hidden("select a$b$c from t group by x", Quotes::Standard), "select a$b$c from t group by x");
    }
}
