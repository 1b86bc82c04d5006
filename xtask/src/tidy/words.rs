//! Words that the documentation does not use, because performance engineers search for others: the
//! *Terminology* of `docs/STYLE.md`, as far as an expression is wrong wherever it stands. What is
//! right in some context does not belong here: a false alarm teaches people to look away.

use anyhow::Result;

use crate::repository::Repository;

/// Markdown that is checked: files, and folders with all below them.
const CHECKED: &[&str] = &["README.md", "docs/"];

/// What of it is left out, and why.
const LEFT_OUT: &[(&str, &str)] = &[
    ("docs/adr/", "a decision keeps the words in which it was made"),
    ("docs/reference/", "generated from texts in code, which are not checked yet"),
];

/// An expression that is wrong.
struct Wrong {
    /// Its words, in lower case.
    words: &'static str,
    /// Phrases in which it is right.
    unless: &'static [&'static str],
    /// What to write instead.
    instead: &'static str,
}

/// Every wrong expression; the page has each of them in backticks.
const WRONG: &[Wrong] = &[
    wrong("chance of so great", "p-value"),
    Wrong { words: "greatest", unless: &["greatest common"], instead: "maximum, largest" },
    Wrong { words: "least", unless: RIGHT_LEAST, instead: "minimum, smallest" },
    wrong("little line", "sparkline"),
    wrong("little lines", "sparklines"),
    wrong("milliard", "billion"),
    wrong("milliards", "billions"),
    wrong("processor time", "CPU time"),
    Wrong { words: "small line", unless: &["small line size", "small line sizes"], instead: "sparkline" },
    wrong("small lines", "sparklines"),
    Wrong { words: "stretch", unless: &["debian stretch"], instead: "time range, interval" },
    wrong("stretches", "time ranges, intervals"),
    wrong("turn of a processor", "context switch"),
    wrong("turns of a processor", "context switches"),
    wrong("whom", "who, which, or a noun"),
];

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

const fn wrong(words: &'static str, instead: &'static str) -> Wrong {
    Wrong { words, unless: &[], instead }
}

/// Complains about wrong expressions in the documentation.
pub fn check(repository: &Repository) -> Result<Vec<String>> {
    let mut complaints = Vec::new();
    for path in repository.files()?.iter().filter(|path| is_checked(path)) {
        let text = repository.read(path)?;
        complaints.extend(complaints_about(&text).into_iter().map(|c| format!("{path}:{c}")));
    }
    Ok(complaints)
}

fn is_checked(path: &str) -> bool {
    let is_under = |place: &str| path == place || (place.ends_with('/') && path.starts_with(place));
    path.ends_with(".md") && CHECKED.iter().any(|p| is_under(p)) && !LEFT_OUT.iter().any(|(p, _)| is_under(p))
}

/// Complaints about one page, each beginning with its line.
fn complaints_about(text: &str) -> Vec<String> {
    let words = words(text);
    let mut complaints = Vec::new();
    for at in 0..words.len() {
        for wrong in WRONG.iter().filter(|wrong| stands(wrong.words, &words, at) && !is_right(wrong, &words, at)) {
            complaints.push(format!("{}: `{}`, write: {}", words[at].line, wrong.words, wrong.instead));
        }
    }
    complaints
}

/// Whether the words of `phrase` begin at `at`.
fn stands(phrase: &str, words: &[Word], at: usize) -> bool {
    phrase.split(' ').enumerate().all(|(i, word)| words.get(at + i).is_some_and(|w| w.text == word))
}

/// Whether the expression at `at` is part of a phrase in which it is right.
fn is_right(wrong: &Wrong, words: &[Word], at: usize) -> bool {
    wrong.unless.iter().any(|phrase| {
        let before = phrase.find(wrong.words).map_or(0, |start| phrase[..start].split_whitespace().count());
        at.checked_sub(before).is_some_and(|first| stands(phrase, words, first))
    })
}

/// A word of prose in lower case; an empty one stands where a phrase cannot go on.
struct Word {
    text: String,
    line: usize,
}

/// The words of a page without code and the targets of links. A phrase may go on in the next line.
fn words(text: &str) -> Vec<Word> {
    let mut found = Vec::new();
    let mut in_code = false;
    for (line, text) in prose(text) {
        // Code within a sentence ends with its paragraph at the latest.
        in_code &= !text.is_empty();
        add_words(text, line, &mut in_code, &mut found);
    }
    found
}

/// The lines outside blocks of code, numbered; a block is one empty line.
fn prose(text: &str) -> Vec<(usize, &str)> {
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
            found.push(Word { text: String::new(), line });
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
                found.push(Word { text: String::new(), line });
            }
            c.len_utf8()
        };
        rest = &rest[length..];
    }
    if text.is_empty() {
        found.push(Word { text: String::new(), line });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_expression_is_found_with_its_line_and_the_right_one() {
        assert_eq!(complaints_about("One.\n\nTo whom?\n"), ["3: `whom`, write: who, which, or a noun"]);
        for text in
            ["The least of them", "**Greatest** value", "a [small line](x.md) each", "four milliards", "*Stretch*"]
        {
            assert_eq!(complaints_about(text).len(), 1, "{text}");
        }
    }

    #[test]
    fn a_phrase_is_found_across_lines_and_hyphens() {
        assert_eq!(complaints_about("* costs processor\n  time\n").len(), 1);
        assert_eq!(complaints_about("processor-time").len(), 1);
        assert_eq!(
            complaints_about("the chance of so\ngreat a difference")[0],
            "1: `chance of so great`, write: p-value"
        );
    }

    #[test]
    fn what_belongs_apart_is_no_phrase() {
        for text in ["one processor. Time passes", "processor\n\ntime", "| processor | time |", "small `x` line"] {
            assert_eq!(complaints_about(text), [""; 0], "{text}");
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
            assert_eq!(complaints_about(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn code_and_addresses_are_not_read() {
        let blocks = "```sql\nSELECT least(a, b)\n```\n\nSo:\n\n    least milliard\n\n    whom\n\nEnd.\n";
        assert_eq!(complaints_about(blocks), [""; 0]);
        for text in ["`whom` and ``least``", "`a\nwhom` b", "[x](whom.md#least)", "https://x/least-whom y"] {
            assert_eq!(complaints_about(text), [""; 0], "{text}");
        }
        assert_eq!(complaints_about("an open ` ends with its paragraph\n\nwhom\n").len(), 1);
        assert_eq!(complaints_about("* a list\n    that goes on: whom\n").len(), 1);
    }

    #[test]
    fn generated_pages_and_decisions_are_not_read() {
        assert!(is_checked("README.md"));
        assert!(is_checked("docs/STYLE.md"));
        assert!(is_checked("docs/tools/trace.md"));
        for path in
            ["docs/adr/0001-engine.md", "docs/reference/tables.md", "docs/reference/openapi.json", "crates/README.md"]
        {
            assert!(!is_checked(path), "{path}");
        }
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
