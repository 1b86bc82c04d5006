//! A command line in words, as a shell splits it: blanks, quotes and backslashes; nothing is expanded.

/// The words of `text`.
///
/// # Errors
/// When a quote is not closed.
pub fn split(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            ' ' | '\t' | '\n' => words.extend(word.take()),
            '\\' => word.get_or_insert_default().extend(rest.next()),
            '\'' => quoted(&mut rest, c, word.get_or_insert_default())?,
            '"' => quoted(&mut rest, c, word.get_or_insert_default())?,
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

/// Adds the text up to the closing `quote`.
fn quoted(rest: &mut std::str::Chars<'_>, quote: char, word: &mut String) -> Result<(), String> {
    while let Some(c) = rest.next() {
        match c {
            c if c == quote => return Ok(()),
            '\\' if quote == '"' => match rest.next() {
                Some(c @ ('"' | '\\' | '$' | '`')) => word.push(c),
                Some(c) => word.extend(['\\', c]),
                None => break,
            },
            c => word.push(c),
        }
    }
    Err(format!("{quote} is not closed"))
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn words_are_those_of_a_shell() {
        // Each was compared with what `printf '<%s>' …` of dash prints.
        let of = |text: &str| split(text).unwrap().join("|");
        assert_eq!(of("kubectl exec  -i shop-0 --"), "kubectl|exec|-i|shop-0|--");
        assert_eq!(of(r#"sh -c 'a "b" c' "d 'e' \"f\" \n" g\ h """#), r#"sh|-c|a "b" c|d 'e' "f" \n|g h|"#);
        assert_eq!(of("a'b'\"c\""), "abc");
        assert_eq!(split("a 'b").unwrap_err(), "' is not closed");
    }
}
