//! The words of the command line, and their memory without secrets: everybody on this machine may read it
//! (`/proc/PID/cmdline`, `ps`) as long as the program runs.

use std::{
    ffi::OsString,
    io,
    os::unix::{ffi::OsStrExt, fs::FileExt},
    sync::OnceLock,
};

use fenxi_model::command_without_secrets;

/// The words as they were typed.
static WORDS: OnceLock<Vec<OsString>> = OnceLock::new();

/// The words of the command line. The first call hides what is secret in them from others.
pub fn words() -> &'static [OsString] {
    WORDS.get_or_init(|| {
        let words: Vec<OsString> = std::env::args_os().collect();
        // Without /proc it cannot be read there either.
        let _ = hide(&words);
        words
    })
}

/// Overwrites the secrets of this process's own command line, byte by byte, so that all words stay where they are.
///
/// It is written as a file: that needs no privilege, as setting other words would, and no unsafe code. Nothing but
/// `std::env::args` refers to this memory, which copies from it.
fn hide(words: &[OsString]) -> io::Result<()> {
    let hidden = without_secrets(words);
    if hidden == words.iter().map(|word| word.as_bytes()).collect::<Vec<_>>() {
        return Ok(());
    }
    let (begin, end) = place(&fs_err::read_to_string("/proc/self/stat")?).ok_or(io::ErrorKind::InvalidData)?;
    let bytes = [hidden.join(&0), vec![0]].concat();
    if bytes.len() as u64 != end.saturating_sub(begin) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    fs_err::OpenOptions::new().write(true).open("/proc/self/mem")?.file().write_all_at(&bytes, begin)
}

/// Where the words begin and end in memory: fields 48 and 49 of `/proc/self/stat`, counted behind the name in brackets.
fn place(stat: &str) -> Option<(u64, u64)> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(45);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// The words with `*` for each byte of what is secret.
fn without_secrets(words: &[OsString]) -> Vec<Vec<u8>> {
    let texts: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    let shown = command_without_secrets(&texts);
    words
        .iter()
        .zip(texts.iter().zip(shown))
        .map(|(word, (text, shown))| stars(word.as_bytes(), text, &shown))
        .collect()
}

/// A word with `*` from where its text begins to differ from what may be shown to where it ends to.
fn stars(word: &[u8], text: &str, shown: &str) -> Vec<u8> {
    let mut hidden = word.to_vec();
    if text == shown {
        return hidden;
    }
    // A word that is no text has other offsets than the text that stands for it.
    if text.as_bytes() != word {
        hidden.fill(b'*');
        return hidden;
    }
    let (shown, is_same) = (shown.as_bytes(), |(a, b): &(&u8, &u8)| a == b);
    let front = word.iter().zip(shown).take_while(is_same).count();
    let most = word.len().min(shown.len()) - front;
    let back = word.iter().rev().zip(shown.iter().rev()).take(most).take_while(is_same).count();
    hidden[front..word.len() - back].fill(b'*');
    hidden
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    fn hidden(words: &[&str]) -> String {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        let hidden = without_secrets(&words);
        assert!(words.iter().zip(&hidden).all(|(word, hidden)| word.len() == hidden.len()));
        String::from_utf8(hidden.join(&b' ')).unwrap()
    }

    #[test]
    fn secrets_are_overwritten_in_place() {
        assert_eq!(hidden(&["fenxi", "record", "--for", "1s"]), "fenxi record --for 1s");
        assert_eq!(
            hidden(&["fenxi", "record", "--db", "postgres://u:hunter2@h/x"]),
            "fenxi record --db postgres://u:*******@h/x"
        );
        assert_eq!(hidden(&["x", "--db=mysql://u:h2@h/"]), "x --db=mysql://u:**@h/");
        assert_eq!(hidden(&["x", "mysql://h/x?password=hunter2&a=b"]), "x mysql://h/x?password=*******&a=b");
        assert_eq!(hidden(&["x", "mysql://h/?pwd=a*b"]), "x mysql://h/?pwd=***");
        let two = hidden(&["x", "postgres://u:hunter2@h/x?sslpassword=hunter2"]);
        assert!(!two.contains("hunter2") && two.starts_with("x postgres://u:"), "{two}");
        assert_eq!(hidden(&["x", "--password", "é2", "y"]), "x --password *** y");
    }

    #[test]
    fn where_words_are_is_read_behind_a_name_with_brackets() {
        let fields: Vec<String> = (3..60).map(|n| n.to_string()).collect();
        assert_eq!(place(&format!("1 (a) b) {}", fields.join(" "))), Some((48, 49)));
        assert_eq!(place("1 (a) S 2"), None);
    }

    #[test]
    fn a_word_that_is_no_text_is_hidden_whole() {
        let word = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        assert!(without_secrets(&[word(b"postgres://u:hunter2\xff@h/")])[0].iter().all(|byte| *byte == b'*'));
        assert_eq!(without_secrets(&[word(b"a\xffb")]), [b"a\xffb"]);
    }
}
