//! The prose of a file, as words with their lines: all of a Markdown page but its code, comments and literals of Rust, and
//! of other languages everything that does not look like code.

/// A word of prose in lower case; an empty one is where a phrase cannot go on.
pub struct Word {
    /// The word; an apostrophe may be part of it.
    pub text: String,
    /// Its line, from 1.
    pub line: usize,
}

/// The function that reads the words of a file, None for files that hold none.
pub fn reader(path: &str) -> Option<fn(&str) -> Vec<Word>> {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.') {
        Some((_, "md")) => Some(of_markdown),
        Some((_, "rs")) => Some(of_rust),
        Some((_, "sql")) => Some(of_sql),
        Some((_, "toml" | "ts" | "tsx" | "mjs" | "css" | "py" | "sh" | "c" | "h" | "service" | "conf")) => {
            Some(of_text)
        }
        None if path.starts_with("scripts/") || path.starts_with(".ci/") || name == "Makefile" => Some(of_text),
        _ => None,
    }
}

/// The words of a page without code and the targets of links. A phrase may go on in the next line.
fn of_markdown(text: &str) -> Vec<Word> {
    let mut found = Vec::new();
    let mut in_code = false;
    for (line, text) in paragraphs(text) {
        // Code within a sentence ends with its paragraph at the latest.
        in_code &= !text.is_empty();
        add_words(text, line, &mut in_code, &mut found);
    }
    found
}

/// The lines outside blocks of code, numbered; a block is one empty line.
fn paragraphs(text: &str) -> Vec<(usize, &str)> {
    let mut lines = Vec::new();
    let (mut fenced, mut after_blank) = (false, true);
    for (i, line) in text.lines().enumerate() {
        let is_fence = line.trim_start().starts_with("```");
        let is_indented = after_blank && (line.starts_with("    ") || line.starts_with('\t'));
        let is_prose = !fenced && !is_fence && !is_indented;
        lines.push((i + 1, if is_prose { line.trim() } else { "" }));
        fenced ^= is_fence;
        // An indented block goes on until a line is not indented.
        after_blank = line.trim().is_empty() || is_indented;
    }
    lines
}

fn add_words(text: &str, line: usize, in_code: &mut bool, found: &mut Vec<Word>) {
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = if *in_code || c == '`' {
            // Any number of backticks opens code, or closes it.
            *in_code ^= c == '`';
            end_phrase(line, found);
            if c == '`' { rest.len() - rest.trim_start_matches('`').len() } else { c.len_utf8() }
        } else if rest.starts_with("](") {
            rest.find(')').map_or(rest.len(), |end| end + 1)
        } else if rest.starts_with("https://") || rest.starts_with("http://") {
            rest.find(char::is_whitespace).unwrap_or(rest.len())
        } else if c.is_alphanumeric() {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '\'').unwrap_or(rest.len());
            found.push(Word { text: rest[..end].to_lowercase(), line });
            end
        } else {
            // Blanks, hyphens, emphasis and the text of a link leave a phrase whole; all else ends it.
            if !c.is_whitespace() && !"-*_[]".contains(c) {
                end_phrase(line, found);
            }
            c.len_utf8()
        };
        rest = &rest[length..];
    }
    if text.is_empty() {
        end_phrase(line, found);
    }
}

fn end_phrase(line: usize, found: &mut Vec<Word>) {
    found.push(Word { text: String::new(), line });
}

/// The words of a file that is code and prose: what holds signs of code is left out, and marks of comments.
fn of_text(text: &str) -> Vec<Word> {
    let mut found = Vec::new();
    for (i, line) in text.lines().enumerate() {
        // Text between tags of a page is prose; `->` is an operator of C.
        add_chunks(&line.replace("</", " </").replace('>', "> ").replace("-> ", "->"), i + 1, &mut found);
    }
    found
}

/// The words of a statement and its header; keys of the header and the lines that name things or rows have none.
fn of_sql(text: &str) -> Vec<Word> {
    const NO_PROSE: &[&str] = &["ask", "causes", "explains", "names", "no", "part", "yes"];
    let mut found = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let key = line.strip_prefix("-- ").and_then(|header| header.split_once(": "));
        match key {
            Some((key, _)) if NO_PROSE.contains(&key) => end_phrase(i + 1, &mut found),
            Some((key, value)) if !key.contains(' ') => add_chunks(value, i + 1, &mut found),
            _ => add_chunks(line, i + 1, &mut found),
        }
    }
    found
}

/// The words of comments and literals; a literal of one word is a name.
fn of_rust(text: &str) -> Vec<Word> {
    let mut found = Vec::new();
    let mut rest = text;
    let mut line = 1;
    while !rest.is_empty() {
        let (kind, length) = rust_token(rest);
        let token = &rest[..length];
        match kind {
            Token::Comment => of_part(token, line, &mut found),
            Token::Literal => {
                end_phrase(line, &mut found);
                let plain = token.replace("\\n", "  ").replace("\\t", "  ").replace("\\\n", " \n");
                if token.trim().contains(' ') {
                    of_part(&plain, line, &mut found);
                }
                end_phrase(line, &mut found);
            }
            Token::Code => end_phrase(line, &mut found),
            Token::Blank => {}
        }
        line += token.matches('\n').count();
        rest = &rest[length..];
    }
    found
}

fn of_part(text: &str, first_line: usize, found: &mut Vec<Word>) {
    for (i, line) in text.split('\n').enumerate() {
        add_chunks(line, first_line + i, found);
    }
}

enum Token {
    Blank,
    Code,
    Comment,
    Literal,
}

/// The first token of Rust and its length in bytes.
fn rust_token(rest: &str) -> (Token, usize) {
    let first = rest.chars().next().unwrap_or(' ');
    if rest.starts_with("//") {
        return (Token::Comment, rest.find('\n').unwrap_or(rest.len()));
    }
    if first.is_whitespace() {
        return (Token::Blank, first.len_utf8());
    }
    if first == '"' {
        return (Token::Literal, literal_end(rest, 1));
    }
    if first == '\'' {
        // A character, or else a lifetime.
        let mut chars = rest.char_indices().skip(1);
        let is_escape = chars.next().is_some_and(|(_, c)| c == '\\');
        let quote = if is_escape {
            rest[2..].char_indices().skip(1).find(|(_, c)| *c == '\'').map(|(at, _)| at + 2)
        } else {
            chars.next().filter(|(_, c)| *c == '\'').map(|(at, _)| at)
        };
        return (Token::Code, quote.map_or(1, |at| at + 1));
    }
    if first.is_alphanumeric() || first == '_' {
        let name = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let after = &rest[name..];
        if after.starts_with('"') && matches!(&rest[..name], "b" | "c") {
            return (Token::Literal, literal_end(rest, name + 1));
        }
        if matches!(&rest[..name], "r" | "br" | "cr") {
            let hashes = after.len() - after.trim_start_matches('#').len();
            if after[hashes..].starts_with('"') {
                let close = format!("\"{}", "#".repeat(hashes));
                let body = name + hashes + 1;
                return (Token::Literal, rest[body..].find(&close).map_or(rest.len(), |at| body + at + close.len()));
            }
        }
        return (Token::Code, name);
    }
    (Token::Code, first.len_utf8())
}

/// Behind the quote that ends the literal whose text begins at `from`.
fn literal_end(rest: &str, from: usize) -> usize {
    let mut escaped = false;
    for (at, c) in rest[from..].char_indices() {
        match c {
            '"' if !escaped => return from + at + 1,
            _ => escaped = c == '\\' && !escaped,
        }
    }
    rest.len()
}

/// Adds the words of a line of code and prose. A word with a sign of code within (`_`, `/`, `=`, `(` and others), between
/// backticks or behind a sign is code, and so is `name =`.
fn add_chunks(line: &str, number: usize, found: &mut Vec<Word>) {
    const AROUND: &[char] =
        &['.', ',', ';', ':', '!', '?', '"', '\'', '(', ')', '[', ']', '*', '…', '>', '<', '{', '}', '\\'];
    let (mut in_code, mut after_dashes) = (false, false);
    let mut chunks = line.split_whitespace().peekable();
    while let Some(chunk) = chunks.next() {
        let was_code = in_code;
        in_code ^= chunk.matches('`').count() % 2 == 1;
        // A key of a header, in a literal that holds a statement.
        let is_key = after_dashes && chunk.ends_with(':');
        after_dashes = chunk.ends_with("--");
        let is_name = is_key || chunks.peek().is_some_and(|next| *next == "=");
        let inner = chunk.trim_start_matches(AROUND).trim_end_matches(AROUND);
        if !chunk.chars().any(char::is_alphanumeric) {
            if !matches!(chunk, "//" | "///" | "//!" | "#" | "--" | "*" | "-") {
                end_phrase(number, found);
            }
        } else if was_code || is_name || chunk.contains('`') || is_code(chunk, inner) {
            end_phrase(number, found);
        } else {
            if !chunk.starts_with(inner) {
                end_phrase(number, found);
            }
            let words = inner.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty());
            found.extend(words.map(|word| Word { text: word.to_lowercase(), line: number }));
            if !chunk.ends_with(inner) {
                end_phrase(number, found);
            }
        }
    }
    if !line.chars().any(char::is_alphanumeric) {
        end_phrase(number, found);
    }
}

fn is_code(chunk: &str, inner: &str) -> bool {
    inner.contains(|c: char| "_/=(){}[]<>$@&|#%+.:\"\\,;".contains(c))
        || chunk.trim_start_matches(['"', '(']).starts_with(['.', '$', '@', '&', '{', '<'])
        || chunk.ends_with(['(', '{', '='])
        || chunk.contains("()")
        || chunk.contains("{}")
}
