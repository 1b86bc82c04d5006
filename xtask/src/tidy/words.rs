//! Words that neither the documentation nor messages, comments and reports use, because performance engineers search for
//! others: the *Terminology* of `docs/STYLE.md`, as far as an expression is wrong wherever it is used. What is right in
//! some context does not belong here: a false alarm teaches people to look away.
//!
//! Folders that are not clean yet are listed with counts in `xtask/words.txt`, a list that shrinks: one expression more is
//! a complaint, and so is a count that is too high (`xtask gen` lowers it). `xtask words FOLDER` shows what is counted.

mod prose;

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use crate::repository::Repository;
use prose::Word;

/// Counts of folders that are not clean yet: `FOLDER COUNT`, a line each.
const LISTED: &str = "xtask/words.txt";

/// Files that are not checked, and why.
const LEFT_OUT: &[(&str, &str)] = &[
    ("bench/results/", "records of measurements keep the words in which they were made"),
    ("docs/adr/", "a decision keeps the words in which it was made"),
    ("docs/reference/", "generated from texts that are checked where they are written"),
    ("third-party/", "texts of others"),
    ("web/dist/", "generated"),
    ("web/src/api.gen.ts", "generated"),
    ("xtask/src/tidy/words.rs", "names the wrong expressions"),
];

/// An expression that is wrong.
struct Wrong {
    /// Its words, in lower case.
    words: &'static str,
    /// Phrases in which it is right.
    unless: &'static [&'static str],
    /// The expression to write instead.
    instead: &'static str,
}

/// Every wrong expression; the page has each of them in backticks.
const WRONG: &[Wrong] = &[
    wrong("chance of so great", "p-value"),
    wrong("elsewhere", "another host, folder or process"),
    wrong("far away", "high latency, remote"),
    wrong("far client", "high latency, remote"),
    wrong("far host", "high latency, remote"),
    wrong("far machine", "high latency, remote"),
    wrong("far network", "high latency, remote"),
    wrong("far server", "high latency, remote"),
    wrong("far servers", "high latency, remote"),
    Wrong { words: "greatest", unless: &["greatest common"], instead: "maximum, largest" },
    Wrong { words: "least", unless: RIGHT_LEAST, instead: "minimum, smallest" },
    wrong("little line", "sparkline"),
    wrong("little lines", "sparklines"),
    wrong("milliard", "billion"),
    wrong("milliards", "billions"),
    wrong("nobody", "no one, no process, no user"),
    wrong("nobody's", "no one, no process, no user"),
    wrong("of its own", "its own, separate, dedicated"),
    wrong("of their own", "its own, separate, dedicated"),
    wrong("planted", "injected"),
    wrong("processor time", "CPU time"),
    Wrong { words: "said", unless: &["that said", "he said", "she said", "they said"], instead: REPORTED },
    Wrong { words: "says", unless: RIGHT_SAYS, instead: REPORTED },
    Wrong { words: "small line", unless: &["small line size", "small line sizes"], instead: "sparkline" },
    wrong("small lines", "sparklines"),
    Wrong { words: "stands", unless: RIGHT_STANDS, instead: "is, is stored, is listed" },
    Wrong { words: "stood", unless: &["stood for", "stood in for"], instead: "is, is stored, is listed" },
    Wrong { words: "stretch", unless: &["debian stretch"], instead: "time range, interval" },
    wrong("stretches", "time ranges, intervals"),
    Wrong { words: "tell", unless: RIGHT_TELL, instead: REPORTED },
    Wrong { words: "tells", unless: &["tells apart", "tells them apart"], instead: REPORTED },
    Wrong { words: "told", unless: &["told apart"], instead: REPORTED },
    wrong("turn of a processor", "context switch"),
    wrong("turns of a processor", "context switches"),
    wrong("what there is not", "unknown, missing"),
    wrong("whoever", "the user, the process, the caller"),
    Wrong {
        words: "whom",
        unless: &["blocked whom", "blocks whom", "by whom", "behind whom"],
        instead: "who, which, or a noun",
    },
];

/// Verbs for programs and data.
const REPORTED: &str = "reported, printed, detected";

/// Where "least" is the word of the field, or of the language.
const RIGHT_LEAST: &[&str] = &[
    "at least",
    "at the least",
    "least frequently",
    "least of all",
    "least privilege",
    "least recently",
    "least significant",
    "least squares",
    "not least",
    "say the least",
];

/// Texts and people say something, programs and values do not.
const RIGHT_SAYS: &[&str] = &[
    "comment says",
    "documentation says",
    "error says",
    "event says",
    "header says",
    "line says",
    "manual says",
    "message says",
    "name says",
    "note says",
    "page says",
    "report says",
    "review says",
    "sentence says",
    "specification says",
    "standard says",
    "text says",
    "title says",
    "warning says",
    "who says",
];

/// Where "stands" is the word of the language.
const RIGHT_STANDS: &[&str] =
    &["stands alone", "stands by", "stands for", "stands in for", "stands out", "stands still"];

/// Where "tell" is: of people, and of distinctions.
const RIGHT_TELL: &[&str] = &["tell apart", "tell them apart", "tell the two apart", "to tell you"];

const fn wrong(words: &'static str, instead: &'static str) -> Wrong {
    Wrong { words, unless: &[], instead }
}

/// Complains about folders with more wrong expressions than the list allows, and about counts that are too high.
pub fn check(repository: &Repository) -> Result<Vec<String>> {
    let mut listed = listed(&repository.read(LISTED)?)?;
    let mut complaints = Vec::new();
    for (folder, found) in found(repository)? {
        match listed.remove(&folder) {
            None => complaints.extend(found),
            Some(n) if found.len() > n => complaints.push(format!(
                "{folder}: {} wrong expressions, {n} in {LISTED}; `xtask words {folder}` shows them",
                found.len()
            )),
            Some(n) if found.len() < n => complaints.push(too_high(&folder, n, found.len())),
            Some(_) => {}
        }
    }
    complaints.extend(listed.into_iter().map(|(folder, n)| too_high(&folder, n, 0)));
    Ok(complaints)
}

fn too_high(folder: &str, listed: usize, found: usize) -> String {
    format!("{LISTED}: {folder} has {found} wrong expressions, not {listed}; `xtask gen` lowers the count")
}

/// Prints the wrong expressions of the files below a folder, or of all files.
pub fn show(repository: &Repository, folder: &str) -> Result<()> {
    for complaint in found(repository)?.into_values().flatten().filter(|c| c.starts_with(folder)) {
        println!("{complaint}");
    }
    Ok(())
}

/// The list with its counts lowered to what is found.
pub fn lowered(repository: &Repository) -> Result<(&'static str, String)> {
    let text = repository.read(LISTED)?;
    let found = found(repository)?;
    let mut list: String = text.lines().filter(|l| l.starts_with('#')).flat_map(|l| [l, "\n"]).collect();
    for (folder, n) in listed(&text)? {
        let count = found.get(&folder).map_or(0, Vec::len).min(n);
        if count > 0 {
            list += &format!("{folder} {count}\n");
        }
    }
    Ok((LISTED, list))
}

fn listed(text: &str) -> Result<BTreeMap<String, usize>> {
    let entry = |line: &str| {
        let (folder, count) = line.rsplit_once(' ').with_context(|| format!("{LISTED}: no count: {line}"))?;
        Ok((folder.to_owned(), count.parse().with_context(|| format!("{LISTED}: no count: {line}"))?))
    };
    text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()).map(entry).collect()
}

/// Complaints about all files, by folder.
fn found(repository: &Repository) -> Result<BTreeMap<String, Vec<String>>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in repository.files()?.iter().filter(|path| !is_left_out(path)) {
        let Some(read) = prose::reader(path) else { continue };
        let complaints = complaints_about(&read(&repository.read(path)?));
        if !complaints.is_empty() {
            let complaints = complaints.into_iter().map(|c| format!("{path}:{c}"));
            found.entry(folder(path)).or_default().extend(complaints);
        }
    }
    Ok(found)
}

fn is_left_out(path: &str) -> bool {
    path.contains("/fixtures/") || LEFT_OUT.iter().any(|(place, _)| path.starts_with(place))
}

/// The folder that a file counts for: a crate, or the folder at the top.
fn folder(path: &str) -> String {
    let n = if path.starts_with("crates/") { 2 } else { 1 };
    path.split('/').take(n).collect::<Vec<_>>().join("/")
}

/// Complaints about the words of one file, each beginning with its line.
fn complaints_about(words: &[Word]) -> Vec<String> {
    let mut complaints = Vec::new();
    for at in 0..words.len() {
        for wrong in WRONG.iter().filter(|wrong| begins(wrong.words, words, at) && !is_right(wrong, words, at)) {
            complaints.push(format!("{}: `{}`, write: {}", words[at].line, wrong.words, wrong.instead));
        }
    }
    complaints
}

/// Whether the words of `phrase` begin at `at`.
fn begins(phrase: &str, words: &[Word], at: usize) -> bool {
    phrase.split(' ').enumerate().all(|(i, word)| words.get(at + i).is_some_and(|w| w.text == word))
}

/// Whether the expression at `at` is part of a phrase in which it is right.
fn is_right(wrong: &Wrong, words: &[Word], at: usize) -> bool {
    wrong.unless.iter().any(|phrase| {
        let before = phrase.split(' ').take_while(|word| *word != wrong.words.split(' ').next().unwrap_or_default());
        at.checked_sub(before.count()).is_some_and(|first| begins(phrase, words, first))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(path: &str, text: &str) -> Vec<String> {
        complaints_about(&prose::reader(path).unwrap()(text))
    }

    #[test]
    fn a_wrong_expression_is_found_with_its_line_and_the_right_one() {
        assert_eq!(about("a.md", "One.\n\nTo whom?\n"), ["3: `whom`, write: who, which, or a noun"]);
        for text in
            ["The least of them", "**Greatest** value", "a [small line](x.md) each", "four milliards", "*Stretch*"]
        {
            assert_eq!(about("a.md", text).len(), 1, "{text}");
        }
    }

    #[test]
    fn a_phrase_is_found_across_lines_and_hyphens() {
        assert_eq!(about("a.md", "* costs processor\n  time\n").len(), 1);
        assert_eq!(about("a.md", "processor-time").len(), 1);
        assert_eq!(about("a.md", "the chance of so\ngreat a difference")[0], "1: `chance of so great`, write: p-value");
    }

    #[test]
    fn what_belongs_apart_is_no_phrase() {
        for text in ["one processor. Time passes", "processor\n\ntime", "| processor | time |", "small `x` line"] {
            assert_eq!(about("a.md", text), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_right_phrase_is_left_alone() {
        for text in [
            "At least four, at the\nleast three",
            "least-squares fit, least recently used, the least significant bit",
            "the greatest common divisor",
            "Debian stretch, the small line size of a cache",
            "stretched, leastways, whomsoever, the processor's time",
        ] {
            assert_eq!(about("a.md", text), [""; 0], "{text}");
        }
    }

    #[test]
    fn code_and_addresses_are_not_read() {
        let blocks = "```sql\nSELECT least(a, b)\n```\n\nSo:\n\n    least milliard\n\n    whom\n\nEnd.\n";
        assert_eq!(about("a.md", blocks), [""; 0]);
        for text in ["`whom` and ``least``", "`a\nwhom` b", "[x](whom.md#least)", "https://x/least-whom y"] {
            assert_eq!(about("a.md", text), [""; 0], "{text}");
        }
        assert_eq!(about("a.md", "an open ` ends with its paragraph\n\nwhom\n").len(), 1);
        assert_eq!(about("a.md", "* a list\n    that goes on: whom\n").len(), 1);
    }

    #[test]
    fn comments_and_literals_of_rust_are_read_but_no_names() {
        let text = "//! Whom.\nfn told(least: &'static str) -> char {\n    // nobody\n    let _ = \"told\";\n    \
                    say!(\"a \\\"quote\\\", told\\n{whom} least(1)\", r#\"of its \"\n own\"#);\n    '\"'\n} /// elsewhere\n";
        let lines: Vec<String> =
            about("a.rs", text).iter().map(|c| c.split(", write").next().unwrap().to_owned()).collect();
        assert_eq!(lines, ["1: `whom`", "3: `nobody`", "5: `told`", "8: `elsewhere`"]);
        assert_eq!(about("a.rs", "// one that goes on, of\n// its own\nfn f() {}\n").len(), 1);
        assert_eq!(about("a.rs", "f(\"a text of \\\n   its own\")").len(), 1);
        assert_eq!(about("a.rs", "f(\"a text of\", \"its own\")"), [""; 0]);
    }

    #[test]
    fn code_of_other_languages_is_left_out() {
        let sql = "-- title: Told\n-- message: At least {whom}\n-- yes: note told\n-- least of them\nSELECT least(a, b), 'is told' AS x\n";
        let lines: Vec<String> = about("a.sql", sql).iter().map(|c| c[..2].to_owned()).collect();
        assert_eq!(lines, ["1:", "4:", "5:"]);
        assert_eq!(about("a.py", "said = f(x.told)  # what it told\n").len(), 1);
        assert_eq!(about("a.tsx", "<p>No one is told</p>\n{told.length}\n").len(), 1);
        assert_eq!(about("a.toml", "says = \"a `told` of src/told.rs\"\n"), [""; 0]);
    }

    #[test]
    fn texts_of_others_and_decisions_are_not_read() {
        assert!(!is_left_out("README.md") && !is_left_out("docs/STYLE.md") && !is_left_out("crates/cli/src/main.rs"));
        for path in ["docs/adr/0001-engine.md", "docs/reference/tables.md", "crates/formats/tests/fixtures/a.md"] {
            assert!(is_left_out(path), "{path}");
        }
        assert!(prose::reader("docs/reference/openapi.json").is_none() && prose::reader("LICENSE").is_none());
        assert!(prose::reader("scripts/env").is_some() && prose::reader("Makefile").is_some());
    }

    #[test]
    fn the_list_has_counts_by_folder() {
        assert_eq!(
            listed("# Why.\ncrates/a 12\n\ndocs 1\n").unwrap(),
            BTreeMap::from([("crates/a".to_owned(), 12), ("docs".to_owned(), 1)])
        );
        assert!(listed("crates/a\n").is_err());
        assert_eq!(
            (folder("crates/a/src/b.rs"), folder("docs/a.md"), folder("README.md")),
            ("crates/a".to_owned(), "docs".to_owned(), "README.md".to_owned())
        );
    }

    #[test]
    fn the_page_names_every_wrong_expression_and_what_to_write() {
        let page = Repository::here().read("docs/STYLE.md").unwrap();
        let (_, table) = page.split_once("## Terminology").unwrap();
        for wrong in WRONG {
            let row = table.lines().find(|row| row.contains(&format!("`{}`", wrong.words)));
            assert!(row.is_some(), "no row for `{}`", wrong.words);
            for word in wrong.instead.split(", ").filter(|word| !word.contains(' ')) {
                assert!(row.unwrap().contains(word.trim_end_matches('s')), "`{}`: no {word}", wrong.words);
            }
        }
    }
}
