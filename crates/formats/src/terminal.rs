//! Sequences that tools send to a terminal besides text: colours, titles, and moves of the cursor; and lines of
//! shells and their like around an output.

/// Begins each of them.
pub(crate) const ESCAPE: u8 = 0x1b;
const ESC: char = '\u{1b}';
/// Ends a title.
const BELL: char = '\u{7}';
/// So many places on a screen make a text a recording of screens.
const PLACES: usize = 4;

/// The text without escape sequences.
pub(crate) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(ESC) {
        plain.push_str(before);
        rest = behind(after);
    }
    plain.push_str(rest);
    plain
}

/// The text after a sequence; `text` follows its escape character.
fn behind(text: &str) -> &str {
    let mut chars = text.chars();
    match chars.next() {
        // `[1;31m`: parameters, and a letter for their purpose.
        Some('[') => {
            let rest = chars.as_str().trim_start_matches(|c: char| (' '..='?').contains(&c));
            let mut chars = rest.chars();
            if chars.next().is_some_and(|c| ('@'..='~').contains(&c)) { chars.as_str() } else { rest }
        }
        // `]0;title` and its end; a title that does not end on its line is all of the line.
        Some(']') => {
            let title = chars.as_str();
            let end = title.find([BELL, ESC, '\n']).unwrap_or(title.len());
            let rest = &title[end..];
            rest.strip_prefix(BELL).or_else(|| rest.strip_prefix("\u{1b}\\")).unwrap_or(rest)
        }
        // `(B`: a set of characters.
        Some('(' | ')' | '*' | '+' | '#' | '%') => {
            let rest = chars.as_str();
            rest.chars().next().filter(char::is_ascii).map_or(rest, |_| &rest[1..])
        }
        // A single letter or digit: keypad, saved cursor.
        Some(c) if c.is_ascii_alphanumeric() || matches!(c, '=' | '>' | '<' | '\\') => chars.as_str(),
        _ => text,
    }
}

/// Whether a text is a recording of screens: figures are at places of the screen, and those that did not change are not
/// drawn again, so that no line is whole.
pub(crate) fn is_screens(head: &[u8]) -> bool {
    let mut rest = head;
    let mut places = 0;
    while let Some(at) = memchr::memchr(ESCAPE, rest) {
        rest = &rest[at + 1..];
        let Some(command) = rest.strip_prefix(b"[") else { continue };
        let end = command.iter().position(|b| !b.is_ascii_digit() && *b != b';').unwrap_or(command.len());
        // `[4;31H`: the fourth line, at column 31. The upper left corner begins a whole screen.
        let to = (&command[..end], command.get(end));
        places += usize::from(matches!(to, (place, Some(b'H' | b'f')) if place.contains(&b';') && place != b"1;1"));
    }
    places >= PLACES
}

/// Lines of `script`, `sudo`, `nohup`, `ssh` and shells around an output: beginning and end of each.
const AROUND: &[(&[u8], &[u8])] = &[
    (b"Script started on ", b""),
    (b"Script started, ", b""),
    (b"Script done on ", b""),
    (b"Script done, ", b""),
    (b"sudo: ", b""),
    (b"[sudo] password for ", b""),
    (b"nohup: ", b""),
    (b"Warning: Permanently added ", b"known hosts."),
    (b"Connection to ", b" closed."),
    (b"Pseudo-terminal will not be allocated ", b""),
    (b"bash: warning: setlocale: ", b""),
    (b"You have new mail in ", b""),
];

/// Whether a line is none of an output but is around it: a remark, or a prompt at which nothing was entered.
#[inline]
pub(crate) fn is_around(line: &[u8]) -> bool {
    // Most lines of measurements begin with a blank or a digit.
    line.first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'[') && is_around_it(line)
}

fn is_around_it(line: &[u8]) -> bool {
    let line = line.trim_ascii_end();
    AROUND.iter().any(|(begin, end)| line.starts_with(begin) && line.ends_with(end)) || is_empty_prompt(line)
}

/// `[root@db1 ~]#`, `me@db1:~$`.
fn is_empty_prompt(line: &[u8]) -> bool {
    if !matches!(line.last(), Some(b'$' | b'#')) || line.len() > 80 || !line.contains(&b'@') {
        return false;
    }
    let inside = &line[..line.len() - 1];
    let plain =
        |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'@' | b'.' | b'-' | b'_' | b'~' | b'/' | b':' | b' ');
    match inside.strip_prefix(b"[").and_then(|rest| rest.strip_suffix(b"]")) {
        Some(inside) => inside.iter().all(plain) && inside.contains(&b' '),
        None => inside.iter().all(|b| plain(b) && *b != b' ') && inside.contains(&b':'),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sequences_are_left_out() {
        for (text, expected) in [
            ("\u{1b}[32;22m  all\u{1b}[0m 5", "  all 5"),
            ("\u{1b}[?25l\u{1b}[2Ka\u{1b}[m\u{1b}(Bb", "ab"),
            ("\u{1b}]0;me@db1: ~\u{7}$ ls", "$ ls"),
            ("\u{1b}]0;title\u{1b}\\x", "x"),
            ("\u{1b}]0;without an end\nnext", "\nnext"),
            ("\u{1b}7a\u{1b}8b\u{1b}=c", "abc"),
            ("a\u{1b}", "a"),
            ("a\u{1b}[12", "a"),
            ("a\u{1b}[12é", "aé"),
            ("\u{1b}é", "é"),
        ] {
            assert_eq!(plain(text), expected, "{text:?}");
        }
    }

    #[test]
    fn screens_are_told_by_their_places() {
        let screen = b"\x1b[H\x1b[2JEvery 1.0s: free\x1b[1;53Hvm\x1b[3;16Htotal\x1b[3;29Hused\x1b[3;41Hfree";
        assert!(is_screens(screen));
        assert!(!is_screens(b"\x1b[H\x1b[J\x1b[mtop - 1\x1b[K\n\x1b[1;31m5\x1b[0m\x1b[1;1H\x1b[5Bx"));
        assert!(!is_screens(b"\x1b[3;16") && !is_screens(b""));
    }

    #[test]
    fn what_stands_around_an_output_is_told() {
        for line in [
            "Script started on 2026-11-25 07:10:35+00:00 [COMMAND=\"vmstat 1 3\" <not executed on terminal>]",
            "Script done on 2026-11-25 07:10:37+00:00 [COMMAND_EXIT_CODE=\"0\"]",
            "sudo: unable to resolve host db1: Name or service not known",
            "[sudo] password for me: ",
            "nohup: ignoring input",
            "Connection to db1 closed.",
            "[root@db1 ~]# ",
            "me@db1:~/a$",
        ] {
            assert!(is_around(line.as_bytes()), "{line}");
        }
        for line in [
            "",
            "Script",
            "sudoers 5",
            "[root@db1 ~]# vmstat 1",
            "me@db1:~$ ls",
            "a@b$",
            "Connection to db1",
            "[x]#",
            "08:19:03 x@y:z$",
        ] {
            assert!(!is_around(line.as_bytes()), "{line}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "[\u{1b}\u{7}\\[\\]();0-9A-Za-zé\n]{0,40}") {
            let _ = (plain(&text), is_screens(text.as_bytes()), is_around(text.as_bytes()));
        }
    }
}
