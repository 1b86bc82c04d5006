//! Places for factors in commands: `{threads}` becomes the level's text, and `{{threads}}` becomes `{threads}`.
//! Text between braces that is no name, as `{print $1}`, and variables of a shell, as `${HOME}`, stay.

use crate::plan::Command;

/// A piece of a text.
enum Piece<'t> {
    Text(&'t str),
    Name(&'t str),
}

fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut begin, mut at) = (0, 0);
    let bytes = text.as_bytes();
    while at < bytes.len() {
        if let Some(name) = text.get(at..).and_then(|t| t.strip_prefix("{{")).and_then(|t| t.split_once("}}"))
            && is_name(name.0)
        {
            pieces.push(Piece::Text(&text[begin..at]));
            pieces.push(Piece::Text(&text[at + 1..at + name.0.len() + 3]));
            at += name.0.len() + 4;
            begin = at;
        } else if bytes[at] == b'{'
            && (at == 0 || bytes[at - 1] != b'$')
            && let Some(name) = text[at + 1..].split_once('}').map(|(name, _)| name).filter(|n| is_name(n))
        {
            pieces.push(Piece::Text(&text[begin..at]));
            pieces.push(Piece::Name(name));
            at += name.len() + 2;
            begin = at;
        } else {
            at += 1;
        }
    }
    pieces.push(Piece::Text(&text[begin..]));
    pieces
}

/// Whether a text can be the name of a factor: letters, digits, `_` and `-`, a letter first.
pub(crate) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// Fills the places of `text`; a name without a value is an error and given.
pub(crate) fn fill(text: &str, value: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut out = String::new();
    for piece in pieces(text) {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Name(name) => out.push_str(&value(name).ok_or_else(|| name.to_owned())?),
        }
    }
    Ok(out)
}

impl Command {
    /// Its words with all places filled; a name without a value is an error and given.
    pub(crate) fn fill(&self, value: impl Fn(&str) -> Option<String>) -> Result<Vec<String>, String> {
        match self {
            Command::Shell(line) => Ok(vec!["sh".to_owned(), "-c".to_owned(), fill(line, value)?]),
            Command::Words(words) => words.iter().map(|word| fill(word, &value)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::fill;

    fn filled(text: &str) -> Result<String, String> {
        fill(text, |name| (name == "n").then(|| "4".to_owned()))
    }

    #[test]
    fn names_are_filled_and_other_braces_stay() {
        let ok = |text: &str| filled(text).unwrap();
        assert_eq!(ok("-j{n} -l{n}"), "-j4 -l4");
        assert_eq!(ok("awk '{print $1}' ${n} {} {1,2}"), "awk '{print $1}' ${n} {} {1,2}");
        assert_eq!(ok("awk '{{print}}' {n}"), "awk '{print}' 4");
        assert_eq!(ok("END{for(k in a){c[k]}} {{n}}"), "END{for(k in a){c[k]}} {n}");
        assert_eq!(ok("{n"), "{n");
        assert_eq!(filled("{m}"), Err("m".to_owned()));
        assert_eq!(ok("ü{n}ü"), "ü4ü");
    }
}
