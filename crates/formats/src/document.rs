//! Documents and sources: texts in which people may quote what tools print, and which are no tool's output themselves.

/// Lines that are looked at.
const LINES: usize = 80;
/// So many sentences make a text a document.
const SENTENCES: usize = 3;
/// Words of a line that can be a part of a sentence.
const WORDS: usize = 9;

/// Words of which English sentences have some, and headings none.
const FUNCTION_WORDS: &[&str] = &[
    "a", "an", "and", "are", "be", "by", "for", "if", "is", "it", "not", "of", "or", "that", "the", "this", "to",
    "with",
];
/// So many of them make a line a sentence.
const FUNCTION: usize = 2;

/// What programs, markup and manual pages begin with.
const BEGINNINGS: &[&str] = &[
    "#!",
    "//",
    "/*",
    "<!--",
    "<!DOCTYPE",
    "<!doctype",
    "<html",
    "<HTML",
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

/// What outputs begin with of tools that explain their figures in sentences.
const EXPLAIN: &[&str] = &["# JMH version: ", "STREAM version $Revision: ", "pool: ", "  pool: "];
/// Lines above that.
const ABOVE: usize = 4;

/// Whether a text is a document or a source: it begins like one, has a fence of Markdown, or several lines of sentences.
pub(crate) fn is_document(text: &str) -> bool {
    let text = text.trim_start_matches(['\u{feff}', '\n', '\r', ' ']);
    if BEGINNINGS.iter().any(|beginning| text.starts_with(beginning)) {
        return true;
    }
    if text.lines().take(ABOVE).any(|line| EXPLAIN.iter().any(|begin| line.starts_with(begin))) {
        return false;
    }
    // A tool may say the same several times.
    let mut sentences: Vec<&str> = Vec::new();
    for line in text.lines().take(LINES) {
        if line.trim_start().starts_with("```") {
            return true;
        }
        if is_sentence(line) && !sentences.contains(&line) {
            sentences.push(line);
        }
    }
    sentences.len() >= SENTENCES
}

/// Whether a line is prose: many words, nearly all of them of small letters, some of which sentences have, and no figures.
/// Comments of data are none: what a metric means (`# HELP`) is said in sentences, too.
fn is_sentence(line: &str) -> bool {
    if line.starts_with('#') {
        return false;
    }
    let (mut words, mut plain, mut function) = (0, 0, 0);
    for word in line.split_ascii_whitespace() {
        if word.bytes().any(|b| b.is_ascii_digit()) {
            return false;
        }
        words += 1;
        let bare = word.trim_matches(|c: char| c.is_ascii_punctuation());
        plain += usize::from(!bare.is_empty() && bare.bytes().all(|b| b.is_ascii_lowercase()));
        function += usize::from(FUNCTION_WORDS.contains(&bare));
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
            "Hi Bob,\n\n 10:00:01 up 1 day,  2:03,  1 user,  load average: 9.10, 8.20, 7.30\n",
        ] {
            assert!(is_document(text), "{text}");
        }
    }

    #[test]
    fn prose_is_a_document() {
        let line = |what: &str| format!("this line has a good number of words in it and says {what}\n");
        assert!(is_document(&["one", "two", "three"].map(line).concat()));
        assert!(!is_document(&line("one").repeat(9)) && !is_document(&["one", "two"].map(line).concat()));
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
