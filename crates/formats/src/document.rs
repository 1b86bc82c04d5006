//! Documents and sources: texts in which people may quote what tools print, and which are no tool's output themselves.

use std::sync::LazyLock;

use rustc_hash::FxHashSet;

/// Lines that are looked at.
const LINES: usize = 80;
/// So many sentences make a text a document.
const SENTENCES: usize = 3;
/// Of this many lines one at least is a sentence, in a document: a script may say between outputs what it does.
const LINES_OF_A_SENTENCE: usize = 16;
/// Words of a line that can be a part of a sentence.
const WORDS: usize = 9;
/// Lines whose share of prose is counted.
const MOST_LINES: usize = 200;
/// Words of a line that can be prose: a message is written in short lines.
const FEW_WORDS: usize = 5;

/// Words of which English sentences have some, and headings none.
const FUNCTION_WORDS: &[&str] = &[
    "a", "an", "and", "are", "be", "by", "for", "if", "is", "it", "not", "of", "or", "that", "the", "this", "to",
    "with",
];
/// More of them, which people write in messages, and some of other languages.
const MORE_FUNCTION_WORDS: &[&str] = &[
    "at", "but", "can", "das", "de", "der", "die", "does", "ein", "eine", "el", "est", "et", "from", "has", "have",
    "how", "i", "ich", "ist", "la", "le", "les", "los", "me", "mit", "my", "nicht", "on", "que", "than", "then",
    "there", "un", "und", "une", "was", "we", "what", "when", "which", "why", "will", "wir", "you", "your", "zu",
];
static SENTENCES_HAVE: LazyLock<FxHashSet<&str>> = LazyLock::new(|| FUNCTION_WORDS.iter().copied().collect());
static MESSAGES_HAVE: LazyLock<FxHashSet<&str>> =
    LazyLock::new(|| FUNCTION_WORDS.iter().chain(MORE_FUNCTION_WORDS).copied().collect());
/// Letters of the longest of them.
const LONGEST_WORD: usize = 5;
/// So many of them make a line a sentence.
const FUNCTION: usize = 2;

/// Beginnings of programs, manual pages and patches.
const SOURCES: &[&str] = &[
    "#!",
    "//",
    "/*",
    "'\\\"",
    ".\\\"",
    ".TH ",
    ".Dd ",
    ".so ",
    "\\documentclass",
    "%!PS",
    "#include",
    "#ifndef",
    "#ifdef",
    "#if ",
    "#define",
    "#pragma",
    "import ",
    "from ",
    "package ",
    "use ",
    "module ",
    "\"use strict\"",
    "'use strict'",
    "\"\"\"",
    "=head",
    "=encoding",
    ";;; ",
    "-*- ",
    "# -*- ",
    "{{",
    "{%",
    "const ",
    "export ",
    "function ",
    "def ",
    "class ",
    "fn ",
    "func ",
    "static ",
    "diff --git ",
    "Index: ",
    "--- a/",
];
/// Beginnings of markup, mail and letters.
const BEGINNINGS: &[&str] = &[
    "<!--",
    "<!DOCTYPE",
    "<!doctype",
    "<html",
    "<HTML",
    "From: ",
    "Return-Path: ",
    "Received: ",
    "Delivered-To: ",
    "Message-ID: ",
    "= ",
    "Hi ",
    "Hello ",
    "Hello,",
    "Hallo ",
    "Dear ",
];

/// Beginnings of outputs of tools that explain their figures in sentences.
const EXPLAIN: &[&str] = &[
    "# JMH version: ",
    "STREAM version $Revision: ",
    "pool: ",
    "  pool: ",
    "pgbench (",
    " Performance counter stats for ",
];
/// Lines above that.
const ABOVE: usize = 4;

/// Whether a text is a document or a source: it begins like one, has marks of Markdown, mail or translations, or a good part of
/// it is prose.
pub(crate) fn is_document(text: &str) -> bool {
    let text = text.trim_start_matches(['\u{feff}', '\n', '\r', ' ']);
    if begins(text, SOURCES) || begins(text, BEGINNINGS) {
        return true;
    }
    if lines_of(text).take(ABOVE).any(|line| EXPLAIN.iter().any(|begin| line.starts_with(begin))) {
        return false;
    }
    if lines_of(text).next().is_some_and(is_title_of_manual) {
        return true;
    }
    // A tool may say the same several times.
    let (mut sentences, mut prose): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    let (mut lines, mut first_lines) = (0, 0);
    for line in lines_of(text).take(MOST_LINES).filter(|line| !line.trim_ascii().is_empty()) {
        if lines < LINES && line.trim_ascii_start().starts_with("```") || is_mark(line) {
            return true;
        }
        lines += 1;
        let figures = figures(line);
        if lines <= LINES {
            first_lines += 1;
            if figures == 0 && is_sentence(line) && !sentences.contains(&line) {
                sentences.push(line);
            }
        }
        if figures <= 1 && is_prose(line) && !prose.contains(&line) {
            prose.push(line);
        }
    }
    let is_share = |part: usize| prose.len() >= part - 2 && prose.len() * part >= lines;
    sentences.len() >= SENTENCES && sentences.len() * LINES_OF_A_SENTENCE >= first_lines || is_share(4) || is_share(5)
}

/// Whether a text begins as programs, manual pages and patches do: it is no document in which somebody quotes an output.
pub(crate) fn is_source(text: &str) -> bool {
    let text = text.trim_start_matches(['\u{feff}', '\n', '\r', ' ']);
    begins(text, SOURCES) || lines_of(text).next().is_some_and(is_title_of_manual)
}

fn begins(text: &str, with: &[&str]) -> bool {
    with.iter().any(|beginning| text.starts_with(beginning))
}

/// `VMSTAT(8)     System Administration     VMSTAT(8)`.
fn is_title_of_manual(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    let (first, last) = (words.next(), words.next_back());
    first == last && first.is_some_and(|word| word.ends_with(')') && word.contains('('))
}

/// The line above a quotation in a mail, before a text that is to be translated, and around one in a source: quotes of
/// Python, a block of YAML.
fn is_mark(line: &str) -> bool {
    // Hardly a line of an output ends like one.
    let ends_like_one = matches!(line.as_bytes().last(), Some(b':' | b'\\' | b'"' | b'|' | b'-' | b'+'));
    if !ends_like_one && !line.starts_with('m') {
        return false;
    }
    line.starts_with("msgid \"")
        || line.ends_with(" wrote:")
        || line.ends_with(" schrieb:")
        || line.ends_with("\"\"\"\\")
        || line.ends_with("= \"\"\"")
        || line.strip_suffix(['-', '+']).unwrap_or(line).strip_suffix(": |").is_some_and(is_key)
}

/// A name of YAML, perhaps within others or in a list.
fn is_key(text: &str) -> bool {
    let name = text.trim_start_matches([' ', '-']);
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
}

/// Words with a digit, of which no more than two are counted: most lines of outputs have as many, and sentences have none.
fn figures(line: &str) -> usize {
    let (mut figures, mut is_counted) = (0, false);
    for byte in line.bytes() {
        if byte.is_ascii_whitespace() {
            is_counted = false;
        } else if byte.is_ascii_digit() && !is_counted {
            (figures, is_counted) = (figures + 1, true);
            if figures == 2 {
                break;
            }
        }
    }
    figures
}

/// Whether a word is one that messages have, whatever the size of its letters.
fn is_function_word(word: &str) -> bool {
    let mut small = [0; LONGEST_WORD];
    let Some(small) = small.get_mut(..word.len()) else { return false };
    small.copy_from_slice(word.as_bytes());
    small.make_ascii_lowercase();
    str::from_utf8(small).is_ok_and(|small| MESSAGES_HAVE.contains(small))
}

/// Lines as `str::lines` gives them, found more quickly.
fn lines_of(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = memchr::memchr(b'\n', rest.as_bytes());
        let (line, behind) = match end {
            Some(end) => (&rest[..end], &rest[end + 1..]),
            None if rest.is_empty() => return None,
            None => (rest, ""),
        };
        rest = behind;
        Some(if end.is_some() { line.strip_suffix('\r').unwrap_or(line) } else { line })
    })
}

/// A word without the punctuation around it.
fn bare(word: &str) -> &str {
    let is_part = |byte: &u8| !byte.is_ascii_punctuation();
    let bytes = word.as_bytes();
    let begin = bytes.iter().position(is_part).unwrap_or(bytes.len());
    let end = bytes.iter().rposition(is_part).map_or(begin, |last| last + 1);
    // Punctuation is of one byte, so that no character is cut.
    word.get(begin..end).unwrap_or_default()
}

/// Whether a line with at most one figure is of a message or a document, with fewer words than [`is_sentence`] asks for: most of
/// it are words, some of which sentences have. What ends in a figure behind a colon is not.
fn is_prose(line: &str) -> bool {
    if line.starts_with('#') {
        return false;
    }
    let (mut words, mut plain, mut function) = (0, 0, 0);
    for word in line.split_ascii_whitespace() {
        words += 1;
        if word.bytes().any(|b| b.is_ascii_digit()) {
            continue;
        }
        let bare = bare(word);
        let mut letters = bare.chars();
        let begins = letters.next().is_some_and(char::is_alphabetic);
        plain += usize::from(begins && letters.all(|c| c.is_lowercase() || matches!(c, '\'' | '\u{2019}' | '-')));
        function += usize::from(is_function_word(bare));
    }
    // Last, for few lines come so far.
    words >= FEW_WORDS && plain * 10 >= words * 7 && function >= FUNCTION && !ends_in_a_figure(line)
}

/// Whether a figure follows the last colon.
fn ends_in_a_figure(line: &str) -> bool {
    let behind = line.rsplit_once(": ").map_or("", |(_, behind)| behind.trim_start());
    behind.starts_with(|c: char| c.is_ascii_digit())
}

/// Whether a line without figures is prose: many words, nearly all of them of small letters, some of which sentences have.
/// Comments of data are none: the help of a metric (`# HELP`) has sentences, too.
fn is_sentence(line: &str) -> bool {
    if line.starts_with('#') {
        return false;
    }
    let (mut words, mut plain, mut function) = (0, 0, 0);
    for word in line.split_ascii_whitespace() {
        words += 1;
        let bare = bare(word);
        plain += usize::from(!bare.is_empty() && bare.bytes().all(|b| b.is_ascii_lowercase()));
        function += usize::from(SENTENCES_HAVE.contains(bare));
    }
    words >= WORDS && plain * 5 >= words * 4 && function >= FUNCTION
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_and_markup_are_documents() {
        for text in [
            "#!/bin/sh\nvmstat 1\n",
            "//! Doc\nfn a() {}\n",
            "\n/* C */",
            ".TH LS 1\n",
            "# Notes\n\n```\nvmstat 1\n```\n",
            "diff --git a/t/vmstat.out b/t/vmstat.out\n",
            "From: a@b.c\nSubject: iostat\n\nsda 1 2 3\n",
            "= Guide\n:toc:\n\n----\nvmstat 1\n",
            "const sample = `\nprocs -----------memory----------\n`\n",
            "EXPECTED = \"\"\"\\\nprocs -----------memory----------\n\"\"\"\n",
            "name: vmstat\nexpected: |-\n  procs -----------memory----------\n",
            "Hi Bob,\n\n 10:00:01 up 1 day,  2:03,  1 user,  load average: 9.10, 8.20, 7.30\n",
        ] {
            assert!(is_document(text), "{text}");
        }
    }

    #[test]
    fn words_are_found_whatever_their_letters_and_without_their_punctuation() {
        for (word, is_one) in
            [("The", true), ("(not", true), ("when?", true), ("there", true), ("%usr", false), ("", false)]
        {
            assert_eq!(is_function_word(bare(word)), is_one, "{word}");
        }
        assert_eq!([bare("\"é,"), bare("--"), bare("a.b")], ["é", "", "a.b"]);
        assert!(!is_function_word("heretofore") && !is_function_word("été"));
        assert!(SENTENCES_HAVE.contains("the") && !SENTENCES_HAVE.contains("there"));
        let longest = FUNCTION_WORDS.iter().chain(MORE_FUNCTION_WORDS).map(|word| word.len()).max();
        assert_eq!(longest, Some(LONGEST_WORD));
        for text in ["", "a", "a\n", "a\r\nb\r", "\n\nc"] {
            assert_eq!(lines_of(text).collect::<Vec<_>>(), text.lines().collect::<Vec<_>>(), "{text:?}");
        }
    }

    #[test]
    fn prose_is_a_document() {
        let line = |what: &str| format!("this line has a good number of words in it and reads {what}\n");
        assert!(is_document(&["one", "two", "three"].map(line).concat()));
        let figures = "10 20 30\n".repeat(9);
        assert!(!is_document(&line("one").repeat(9)));
        assert!(!is_document(&[line("one"), line("two"), figures].concat()));
    }

    #[test]
    fn prose_around_a_quoted_output_is_a_document_and_remarks_between_outputs_are_none() {
        let vmstat = "procs -----------memory---------- ---swap--\n r  b   swpd   free\n 3  0      0 812344\n 9  4      0 802120\n";
        let ticket = format!(
            "db1 is slow since the upgrade on Monday\nthis is what I see there:\n{vmstat}Can you have a look at it?\n"
        );
        assert!(is_document(&ticket));
        let quoted: String = vmstat.lines().map(|line| format!("> {line}\n")).collect();
        assert!(is_document(&format!("On Tue, Bob <bob@example.org> wrote:\n{quoted}Looks fine.\n")));
        assert!(is_document(&format!("VMSTAT(8)     System Administration     VMSTAT(8)\n{vmstat}")));
        let many: String = (0..40).map(|n| format!(" 9  4      0 80{n}\n")).collect();
        let remark =
            |n: &str| format!("now the {n} part of the test is run with all of the caches dropped\n{vmstat}{many}");
        assert!(!is_document(&["first", "second", "third", "last"].map(remark).concat()));
    }

    #[test]
    fn what_tools_print_is_none() {
        let texts = [
            "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n",
            "# started on Sun Nov 22 10:00:00 2026\n\n\n Performance counter stats for 'sleep 1':\n",
            "# HELP a_s Total time that the process has spent waiting for the disk to write what is in the queue of it.\n# TYPE a_s counter\na_s 1\n# HELP b_s Total time that the process has spent waiting for the disk to read what is in the queue of it.\nb_s 2\n# HELP c_s Total time that the process has spent waiting for a lock that is held by another one of them all.\nc_s 3\n",
            "{\"sysstat\": {\"hosts\": []}}",
            "<?xml version=\"1.0\"?>\n<sysstat/>",
            "CPU minf mjf xcal  intr ithr  csw icsw migr smtx  srw syscl  usr sys  wt idl\n  0    1   0    0   215  108   44    0    0    0    0    48    0   1   0  99\nCPU minf mjf xcal  intr ithr  csw icsw migr smtx  srw syscl  usr sys  wt idl\n",
            "starting vacuum...end.\ntransaction type: <builtin: TPC-B (sort of)>\nscaling factor: 1\n",
        ];
        for text in texts {
            assert!(!is_document(text), "{text}");
        }
    }
}
