//! Minimal SQL lexer: finds the names that a statement mentions.
//!
//! Whether a statement may run is never decided here; the engine's own parser decides that (crate `engine`).

/// One token: a name (folded to lower case unless quoted), or a character that is none.
#[derive(Debug, PartialEq, Eq)]
pub enum Token {
    /// A name.
    Name(String),
    /// Any other character.
    Other(char),
}

/// The tokens of `sql` with the byte place of each; strings and comments are left out.
pub fn tokens(sql: &str) -> Vec<(usize, Token)> {
    let bytes = sql.as_bytes();
    let mut out = Vec::new();
    let mut i = 0;
    while i < bytes.len() {
        let rest = &sql[i..];
        let c = rest.chars().next().unwrap_or(' ');
        let len = if rest.starts_with("--") {
            rest.find(['\n', '\r']).unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            comment_len(rest)
        } else if c == '\'' || c == '"' {
            let (len, text) = quoted(rest, c);
            if c == '"' {
                out.push((i, Token::Name(text.to_lowercase())));
            } else {
                out.push((i, Token::Other('\'')));
            }
            len
        } else if c == '_' || c.is_alphabetic() {
            let len = rest.find(|c: char| !(c == '_' || c == '$' || c.is_alphanumeric())).unwrap_or(rest.len());
            out.push((i, Token::Name(rest[..len].to_lowercase())));
            len
        } else {
            if !c.is_whitespace() {
                out.push((i, Token::Other(c)));
            }
            c.len_utf8()
        };
        i += len.max(1);
    }
    out
}

/// Returns true if a statement has parameters, `$name`, that need values.
pub fn has_parameters(sql: &str) -> bool {
    let tokens = tokens(sql);
    tokens.windows(2).any(|pair| match pair {
        [(place, Token::Other('$')), (next, Token::Name(_))] => place + 1 == *next,
        _ => false,
    })
}

/// `sql` without the `;` that it ends with, and what follows it.
pub fn without_end(sql: &str) -> &str {
    let tokens = tokens(sql);
    let ends = tokens.iter().rev().take_while(|(_, token)| *token == Token::Other(';'));
    sql[..ends.last().map_or(sql.len(), |(at, _)| *at)].trim_end()
}

/// Length of a block comment; they nest.
fn comment_len(text: &str) -> usize {
    let (mut depth, mut i, bytes) = (0_usize, 0, text.as_bytes());
    while i + 1 < bytes.len() {
        match &bytes[i..i + 2] {
            b"/*" => (depth, i) = (depth + 1, i + 2),
            b"*/" => (depth, i) = (depth - 1, i + 2),
            _ => i += 1,
        }
        if depth == 0 {
            return i;
        }
    }
    text.len()
}

/// Length and content of a quoted text; a doubled quote is an escaped one.
pub(crate) fn quoted(text: &str, quote: char) -> (usize, &str) {
    let bytes = text.as_bytes();
    let mut i = 1;
    while i < bytes.len() {
        if bytes[i] == quote as u8 {
            if bytes.get(i + 1) != Some(&(quote as u8)) {
                return (i + 1, &text[1..i]);
            }
            i += 1;
        }
        i += 1;
    }
    (text.len(), &text[1..])
}

/// When `sql` begins with EXPLAIN: whether it asks for ANALYZE, and the statement to be explained.
pub fn explained(sql: &str) -> Option<(bool, &str)> {
    let tokens = tokens(sql);
    let name = |i: usize| match tokens.get(i) {
        Some((_, Token::Name(n))) => n.as_str(),
        _ => "",
    };
    if name(0) != "explain" {
        return None;
    }
    let analyze = name(1) == "analyze";
    let at = tokens.get(1 + usize::from(analyze))?.0;
    Some((analyze, &sql[at..]))
}

/// The first word of `sql`, for the message that it may not run.
pub(crate) fn first_word(sql: &str) -> String {
    match tokens(sql).into_iter().map(|(_, t)| t).find(|t| !matches!(t, Token::Other('(' | ';'))) {
        Some(Token::Name(word)) => word.to_uppercase(),
        _ => "this statement".to_owned(),
    }
}

/// Whether there is nothing but blanks, comments and semicolons.
pub(crate) fn is_empty(sql: &str) -> bool {
    tokens(sql).iter().all(|(_, t)| *t == Token::Other(';'))
}

#[cfg(test)]
mod tests {
    use super::{Token, explained, first_word, is_empty, tokens};

    #[test]
    fn names_in_strings_and_comments_are_not_mentioned() {
        let sql = "select \"Disk\".x, 'cpu' -- net\n from /* mem /* vm */ */ Sched where a='it''s tcp'";
        let names: Vec<String> =
            tokens(sql).into_iter().filter_map(|(_, t)| if let Token::Name(n) = t { Some(n) } else { None }).collect();
        assert_eq!(names, ["select", "disk", "x", "from", "sched", "where", "a"]);
    }

    #[test]
    fn a_comment_ends_where_the_engine_ends_it() {
        assert!(is_empty(" -- nothing;\n;") && is_empty(""));
        assert!(!is_empty("--\rCREATE TABLE x (i INT)"));
        assert_eq!(first_word("-- x\n (copy t to 'x')"), "COPY");
    }

    #[test]
    fn an_explained_statement_is_found() {
        assert_eq!(explained("/* x */ explain Analyze select 1"), Some((true, "select 1")));
        assert_eq!(explained("explain copy x to y"), Some((false, "copy x to y")));
        assert_eq!(explained("select 1"), None);
    }
}
