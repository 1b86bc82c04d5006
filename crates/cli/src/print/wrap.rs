//! Text in lines.

/// `text` in lines of at most `width` characters, broken at blanks; a longer word has its own line.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0_usize;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > width {
            lines.push(String::new());
            used = 0;
        }
        if let Some(line) = lines.last_mut() {
            if used > 0 {
                line.push(' ');
                used += 1;
            }
            line.push_str(word);
            used += length;
        }
    }
    lines
}

/// `text` in lines of the terminal's width; as it is where there is none.
pub fn for_terminal(text: &str) -> String {
    match super::width(&std::io::stdout()) {
        Some(width) => text.lines().map(|line| wrapped(line, width).join("\n")).collect::<Vec<_>>().join("\n"),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn text_is_broken_at_blanks() {
        assert_eq!(wrapped("aa bb  cc", 5), ["aa bb", "cc"]);
        assert_eq!(wrapped("überlang a", 4), ["überlang", "a"]);
        assert_eq!(wrapped("", 4), [""]);
    }
}
