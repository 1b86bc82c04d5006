//! How a format of a store recognises its texts: by what only its tool prints, or not at all.

use regex::Regex;

use super::{
    compile::pattern,
    document::{Keys, Wrong},
};
use crate::{Head, Sure, document::is_document};

/// What a text must have to be the format's.
#[derive(Clone, Debug)]
pub(super) struct Recognise {
    begins: Option<Regex>,
    contains: Vec<Regex>,
    pub(super) instead_of: Option<String>,
}

/// Keys of `[recognise]`.
pub(super) const KEYS: &[&str] = &["begins", "contains", "instead_of"];

/// What many programs print. Who recognises one of these would claim the texts of others.
const COMMONPLACE: &[&str] = &[
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
    pub(super) fn read(keys: Keys<'_, '_>) -> Result<Recognise, Wrong> {
        let source = keys.source;
        let begins = match keys.text("begins")? {
            Some(said) => Some(pattern(source, said, &format!("^(?:{})", said.text))?),
            None => None,
        };
        let contains = keys.texts("contains")?;
        let contains: Result<Vec<_>, _> =
            contains.iter().map(|said| pattern(source, *said, &format!("^(?:{})$", said.text))).collect();
        let instead_of = keys.text("instead_of")?;
        if let Some(said) = instead_of.filter(|said| crate::format(said.text).is_none()) {
            let near = super::document::perhaps(said.text, crate::formats().map(|format| format.name));
            return Err(
                source.wrong(said.at, format!("`instead_of`: no shipped format is called `{}`{near}", said.text))
            );
        }
        let recognise =
            Recognise { begins, contains: contains?, instead_of: instead_of.map(|said| said.text.to_owned()) };
        if recognise.begins.is_none() && recognise.contains.is_empty() {
            let why = "[recognise] says nothing that a text must have: add `begins = '…'` or `contains = ['…']`, or leave \
                       [recognise] away to read only what `--as` names";
            return Err(source.wrong(keys.at, why));
        }
        if let Some(text) = COMMONPLACE.iter().find(|text| recognise.claims(&Head { text })) {
            let line = text.lines().next().unwrap_or_default();
            let why = format!(
                "[recognise] would also take a text that begins `{line}`, which many programs print; name what only this tool does"
            );
            return Err(source.wrong(keys.at, why));
        }
        Ok(recognise)
    }

    fn claims(&self, head: &Head<'_>) -> bool {
        self.begins.as_ref().is_none_or(|begins| begins.is_match(head.first()))
            && self.contains.iter().all(|pattern| head.any(|line| pattern.is_match(line)))
    }

    /// Certain, or no.
    pub(super) fn sniff(&self, head: &Head<'_>) -> Sure {
        Sure::Certain.when(self.claims(head) && !is_document(head.text))
    }
}
