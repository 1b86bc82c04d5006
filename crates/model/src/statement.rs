//! Normal forms of SQL statements and their digests: texts that differ in their values only are one statement.
//!
//! Every source that gives statements a digest uses these two functions, so that the same statement has the same digest
//! whichever source reported it. A form of a form is itself.

mod hidden;

pub use hidden::{Quotes, hidden, hidden_of};

/// The replacement of a literal.
const VALUE: char = '?';

/// The digest of a statement whose normal form is `form`: 16 hexadecimal digits of FNV-1a, 64 bit, over its bytes.
///
/// Runs keep it, so it never changes: <http://www.isthe.com/chongo/tech/comp/fnv/>.
pub fn digest(form: &str) -> String {
    format!("{:016x}", crate::fnv::fnv1a(form.bytes()))
}

/// The normal form of a statement: literals and placeholders are `?`, comments are gone, letters outside of quotes are
/// small, lists of values are `(?, ...)`. `cut`: the text is only the begin of the statement, and so ends in `...`.
pub fn form(text: &str, cut: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let taken = match c {
            '-' if rest.starts_with("--") => comment(rest, "\n"),
            '/' if rest.starts_with("/*") => comment(rest, "*/"),
            '"' | '`' => quoted(rest, c, &mut out),
            '\'' => value(string(rest), &mut out),
            '0'..='9' if !ends_in_word(&out) => value(number(rest), &mut out),
            '$' if placeholder(rest) > 1 && !ends_in_word(&out) => value(placeholder(rest), &mut out),
            '-' if begins_literal(&rest[1..]) && begins_value(&out) => 1,
            _ if c.is_whitespace() => blank(&mut out, c.len_utf8()),
            _ => {
                separate(&mut out, c);
                out.extend(c.to_lowercase());
                c.len_utf8()
            }
        };
        if rest.starts_with("--") || rest.starts_with("/*") {
            blank(&mut out, 0);
        }
        rest = &rest[taken..];
    }
    let mut out = shorten_lists(out.trim_end_matches([' ', ';']));
    if cut {
        // Where it was cut is chance.
        if let Some(end) = out.rfind([' ', '(']) {
            out.truncate(end);
        }
        out.push_str(" ...");
    }
    out
}

/// Puts `?` for a literal of `length` bytes.
fn value(length: usize, out: &mut String) -> usize {
    separate(out, VALUE);
    out.push(VALUE);
    length
}

/// The length of a text in single quotes: quotes inside are doubled, or behind a backslash. One that does not end goes to
/// the end of the text.
fn string(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'\'' if bytes.get(at + 1) == Some(&b'\'') => at += 2,
            b'\'' => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// The length of a number: `12`, `1.5e-3`, `0xff`.
fn number(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let exponent = matches!(byte, b'+' | b'-') && matches!(bytes[at - 1], b'e' | b'E') && !rest.starts_with("0x");
        if !(byte.is_ascii_alphanumeric() || *byte == b'.' || exponent) {
            break;
        }
        at += 1;
    }
    at
}

/// Whether a value follows that a sign can belong to.
fn begins_literal(rest: &str) -> bool {
    rest.starts_with(|c: char| c == VALUE || c.is_ascii_digit())
}

/// The length of a placeholder such as `$12`; 1 when it is none.
fn placeholder(rest: &str) -> usize {
    1 + rest[1..].bytes().take_while(u8::is_ascii_digit).count()
}

fn ends_in_word(out: &str) -> bool {
    out.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '$'))
}

/// Whether a minus that comes now belongs to a number.
fn begins_value(out: &str) -> bool {
    out.trim_end().ends_with(['(', ',', '=', '<', '>', '+', '-', '*', '/'])
}

/// The length of a comment that ends with `end`, or with the text.
fn comment(rest: &str, end: &str) -> usize {
    rest.find(end).map_or(rest.len(), |at| at + end.len())
}

/// Takes a quoted name over as it is, and gives its length.
fn quoted(rest: &str, quote: char, out: &mut String) -> usize {
    separate(out, quote);
    let end = rest[1..].find(quote).map_or(rest.len(), |at| at + 2);
    out.push_str(&rest[..end]);
    end
}

fn blank(out: &mut String, taken: usize) -> usize {
    if !out.is_empty() && !out.ends_with([' ', '(']) {
        out.push(' ');
    }
    taken
}

/// A comma has a blank after it and none before, so that `a,b` and `a, b` are one; so have brackets inside.
fn separate(out: &mut String, next: char) {
    if out.ends_with(',') {
        out.push(' ');
    }
    if matches!(next, ',' | ')' | ';') && out.ends_with(' ') {
        out.pop();
    }
}

/// `?, ?, ?` becomes `?, ...`, and rows of such lists one.
fn shorten_lists(text: &str) -> String {
    let text = repeated(text, "?", "?");
    repeated(&text, "(?, ...)", "(?, ...)").replace("(?, ...), ...", "(?, ...)")
}

/// Puts `, ...` for all repetitions of `item` after the first.
fn repeated(text: &str, item: &str, kept: &str) -> String {
    let again = format!(", {item}");
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(item) {
        out.push_str(&rest[..at]);
        out.push_str(kept);
        rest = &rest[at + item.len()..];
        let before = rest.len();
        while let Some(after) = rest.strip_prefix(&again) {
            rest = after;
        }
        if rest.len() < before {
            out.push_str(", ...");
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_differ_in_letters_blanks_and_comments_are_one() {
        let one = "select c from sbtest1 where id = ?";
        for text in [
            "SELECT c FROM sbtest1 WHERE id = ?",
            "select  c\n from sbtest1 where id = ? ;",
            "/* app:7 */ select c from sbtest1 where id = ?",
            "select c -- all\nfrom sbtest1 where id = ?",
            one,
        ] {
            assert_eq!(form(text, false), one);
        }
    }

    #[test]
    fn literals_are_values() {
        let one = "select a1 from t where k = ? and s = ? and f < ?";
        for text in [
            "select a1 from t where k = 17 and s = 'it''s' and f < 1.5e-3",
            "select a1 from t where k = -17 and s = 'a \\' b' and f < 0xFF",
            "select a1 from t where k = $1 and s = $2 and f < $3",
            one,
        ] {
            assert_eq!(form(text, false), one, "{text}");
        }
        assert_eq!(form("select 'open", false), "select ?");
        assert_eq!(form("select \"1\" from t2", false), "select \"1\" from t2");
        assert_eq!(form("select 'é', é2", false), "select ?, é2");
    }

    #[test]
    fn a_digest_is_fnv_1a_of_the_form() {
        // Reference values of the authors: of the empty text, and of `foobar`.
        assert_eq!((digest(""), digest("foobar")), ("cbf29ce484222325".to_owned(), "85944171f73967e8".to_owned()));
    }

    #[test]
    fn lists_of_any_length_are_one() {
        let one = "select ? from t where k in (?, ...) and j = ?";
        assert_eq!(form("select ? from t where k in (?,?,?) and j = ?", false), one);
        assert_eq!(form("select ? from t where k in ( ?, ? ) and j = ?", false), one);
        let rows = form("insert into t values (?, ?), (?,?),(?, ?)", false);
        assert_eq!(rows, "insert into t values (?, ...)");
        assert_eq!(form("insert into t values (?, ?)", false), rows);
    }

    #[test]
    fn placeholders_and_signs_are_part_of_values() {
        let one = "update t set v = v + ? where id in (?, ...)";
        assert_eq!(form("update t set v = v + -? where id in (?, -?)", false), one);
        assert_eq!(form("UPDATE t SET v = v + $1 WHERE id IN ($2,$3)", false), one);
        assert_eq!(form("select a$1 - ?", false), "select a$1 - ?");
    }

    #[test]
    fn a_form_of_a_form_is_itself() {
        for text in [
            "insert into t values (?,?),(?,?)",
            "select 1, -2, 'x'",
            "'",
            "'\\",
            "1e+",
            "select 1 - -1",
            "SELECT `A b`, \"C\"",
            "begin;",
            "",
            "--",
            "/*",
            "\"",
            "é, È",
        ] {
            let once = form(text, false);
            assert_eq!(form(&once, false), once, "{text}");
        }
    }

    #[test]
    fn names_in_quotes_keep_their_letters() {
        assert_eq!(form("SELECT \"User\" FROM `T x`", false), "select \"User\" from `T x`");
    }

    #[test]
    fn what_was_cut_says_so_and_ends_with_a_whole_word() {
        assert_eq!(
            form("insert into t values (?,?), (?,?), (?", true),
            form("insert into t values (?,?), (?,?), (?,", true)
        );
        assert!(form("select a from lo", true).ends_with("from ..."));
    }
}
