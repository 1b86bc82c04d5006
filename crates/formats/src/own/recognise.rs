//! How a format of a store recognises its texts: by what only its tool prints, or not at all.

mod likeness;

use std::sync::OnceLock;

use regex::Regex;

use super::{
    document::{Keys, Said, Source, Wrong, pattern},
    results::{Pairs, same_key},
};
use crate::{Head, Sure, document::is_document, stamp};

/// When patterns are compiled: at once, so that a wrong one is an error, or when a text has all else that is asked for. Nearly
/// none has, so that the patterns cost nothing of formats that are right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compile {
    Now,
    Later,
}

/// A pattern that is compiled when it is first asked.
#[derive(Clone, Debug)]
struct Pattern {
    text: String,
    regex: OnceLock<Option<Regex>>,
}

impl Pattern {
    fn read(source: Source<'_>, said: Said<'_>, whole: String, compile: Compile) -> Result<Pattern, Wrong> {
        let regex = OnceLock::new();
        if compile == Compile::Now {
            let _ = regex.set(Some(pattern(source, said, &whole)?));
        }
        Ok(Pattern { text: whole, regex })
    }

    fn is_match(&self, line: &str) -> bool {
        self.regex.get_or_init(|| Regex::new(&self.text).ok()).as_ref().is_some_and(|regex| regex.is_match(line))
    }
}

/// Conditions that a text of the format meets.
#[derive(Clone, Debug)]
pub(super) struct Recognise {
    begins: Option<Pattern>,
    contains: Vec<Pattern>,
    /// Patterns of which some line must match one.
    some: Vec<Pattern>,
    /// Patterns of lines that make it likely, and no more.
    likely: Vec<Pattern>,
    /// Words that some line has one after the other: one of these.
    header: Vec<String>,
    /// Whether the line below that one has as many words.
    row_below: bool,
    /// Texts that it has, and those that it has not.
    has: Vec<String>,
    lacks: Vec<String>,
    /// Keys of pairs, each of some line, and the text after a key.
    pairs: Vec<String>,
    between: String,
    /// Texts that a document of JSON has, where the format is JSON too.
    json: Vec<String>,
}

/// Keys of `[recognise]`.
pub(super) const KEYS: &[&str] =
    &["begins", "contains", "some", "likely", "header", "row_below", "has", "lacks", "pairs", "json", "instead_of"];

/// Texts that many programs print. A description that recognises one of these would claim the texts of others.
pub(super) const COMMONPLACE: &[&str] = &[
    "a\n",
    "0\n1\n2\n",
    "3.14 2.72\n",
    "hello world\nthis is a text\n",
    "name: value\nother: 5\n",
    "key=value\nother=1\n",
    "a,b,c\n1,2,3\n",
    "time value\n1 2\n",
    "2026-11-21 14:00:00 INFO started\n2026-11-21 14:00:01 ERROR failed: 5\n",
    "2026-11-21T14:00:00Z 12 34\n2026-11-21T14:00:10Z 13 35\n",
    "Nov 21 14:00:00 db1 sshd[88]: Accepted publickey for bob\n",
    "14:00:00 1 2 3\n14:00:10 4 5 6\n",
    "1795271753 12\n1795271763 13\n",
    "{\"time\": \"2026-11-21T14:00:00Z\", \"value\": 3}\n",
    "# a comment\n[section]\nkey = 1\n",
    "-----\n=====\n*****\n",
    "Linux 6.1.0 (db1) \t11/21/26 \t_x86_64_\t(8 CPU)\n",
    "Total: 5\nCount: 3\nDone.\n",
];

impl Recognise {
    /// Reads `[recognise]`.
    pub(super) fn read(keys: Keys<'_, '_>, between: &str, compile: Compile) -> Result<Recognise, Wrong> {
        let source = keys.source;
        let begins = match keys.text("begins")? {
            Some(said) => Some(Pattern::read(source, said, format!("^(?:{})", said.text), compile)?),
            None => None,
        };
        let whole = |said: &Said<'_>| Pattern::read(source, *said, format!("^(?:{})$", said.text), compile);
        let contains: Result<Vec<_>, _> = keys.texts("contains")?.iter().map(whole).collect();
        let some: Result<Vec<_>, _> = keys.texts("some")?.iter().map(whole).collect();
        let likely: Result<Vec<_>, _> = keys.texts("likely")?.iter().map(whole).collect();
        let instead_of = keys.text("instead_of")?;
        if let Some(said) = instead_of.filter(|said| crate::format(said.text).is_none()) {
            let near = super::document::perhaps(said.text, crate::formats().map(|format| format.name));
            return Err(
                source.wrong(said.at, format!("`instead_of`: no shipped format is called `{}`{near}", said.text))
            );
        }
        let texts = |key: &str| keys.texts(key).map(|texts| texts.iter().map(|said| said.text.to_owned()).collect());
        let recognise = Recognise {
            begins,
            contains: contains?,
            some: some?,
            likely: likely?,
            header: texts("header")?,
            row_below: keys.flag("row_below")?,
            has: texts("has")?,
            lacks: texts("lacks")?,
            pairs: texts("pairs")?,
            between: between.to_owned(),
            json: texts("json")?,
        };
        if recognise.asks_nothing() {
            let why = "[recognise] has nothing that a text must contain: add `begins = '…'`, `contains = ['…']` or `header = \"…\"`, \
                       or leave [recognise] away to read only what `--as` names";
            return Err(source.wrong(keys.at, why));
        }
        Ok(recognise)
    }

    fn asks_nothing(&self) -> bool {
        self.begins.is_none()
            && self.contains.is_empty()
            && self.some.is_empty()
            && [&self.header, &self.has, &self.pairs, &self.json].into_iter().all(Vec::is_empty)
    }

    /// A text that many programs print and it would take too.
    pub(super) fn claims_commonplace(&self) -> Option<&'static str> {
        COMMONPLACE.iter().copied().find(|text| self.claims(&Head { text }))
    }

    fn claims(&self, head: &Head<'_>) -> bool {
        let has = |text: &String| memchr::memmem::find(head.text.as_bytes(), text.as_bytes()).is_some();
        if !self.json.is_empty() && head.text.trim_start().starts_with('{') {
            return self.json.iter().all(has);
        }
        self.has.iter().all(has)
            && !self.lacks.iter().any(has)
            && self.begins.as_ref().is_none_or(|begins| begins.is_match(head.first()))
            && (self.header.is_empty() || self.header.iter().any(|words| self.has_header(head, words)))
            && self.pairs.iter().all(|key| head.any(|line| self.is_pair(line, key)))
            && self.contains.iter().all(|pattern| head.any(|line| pattern.is_match(line)))
            && (self.some.is_empty() || head.any(|line| self.some.iter().any(|pattern| pattern.is_match(line))))
    }

    fn has_header(&self, head: &Head<'_>, words: &str) -> bool {
        if !self.row_below || !head.has_words(words) {
            return head.has_words(words);
        }
        let bare = |line: &'_ str| stamp(line).map_or(line.len(), |stamp| stamp.rest.len());
        let mut lines = head.lines().map(|line| &line[line.len() - bare(line)..]).peekable();
        while let Some(line) = lines.next() {
            let count = |line: &str| line.split_ascii_whitespace().count();
            let follows = lines.peek().is_some_and(|next| count(next) == count(line));
            if follows && (Head { text: line }).has_words(words) {
                return true;
            }
        }
        false
    }

    /// Whether a line is a pair with the key.
    fn is_pair(&self, line: &str, key: &str) -> bool {
        Pairs::cut_at(line, &self.between).is_some_and(|(found, _)| same_key(key, found))
    }

    /// Certain, or no.
    pub(super) fn sniff(&self, head: &Head<'_>) -> Sure {
        let sure = if self.claims(head) {
            Sure::Certain
        } else {
            Sure::Likely.when(head.any(|line| self.likely.iter().any(|pattern| pattern.is_match(line))))
        };
        sure.min(Sure::Certain.when(sure > Sure::No && !is_document(head.text)))
    }
}
