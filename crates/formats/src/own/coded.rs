//! Formats that are described, but for how their lines are read: `reader` names code that does it, by the description's words.

use regex::Regex;
use rustc_hash::FxHashMap;

use super::{
    document::{Keys, Wrong, list, pattern},
    report::Pace,
    words::Words,
};
use crate::{Input, Out, any::lasting, unix};

/// Devices whose class is remembered.
const MOST_DEVICES: usize = 1 << 16;

/// Reader of a format's lines.
type Reader = fn(&Coded, &mut Input<'_>, &mut Out<'_>);

/// Readers by the names that descriptions have for them.
const READERS: &[(&str, Reader)] = &[("iostat", unix::iostat::read)];

/// A description's part that a reader needs.
#[derive(Debug)]
pub(crate) struct Coded {
    pub(crate) name: &'static str,
    pub(crate) words: Words,
    pub(super) pace: Pace,
    /// Patterns of the names of devices, and the class of those that match.
    classes: Vec<(Regex, &'static str)>,
    reader: Reader,
}

impl Coded {
    /// Settings of a description with a reader; None for one without.
    pub(super) fn read(name: &'static str, top: &Keys<'_, '_>) -> Result<Option<Coded>, Wrong> {
        let Some(said) = top.text("reader")? else { return Ok(None) };
        let Some((_, reader)) = READERS.iter().find(|(known, _)| *known == said.text) else {
            let known: Vec<&str> = READERS.iter().map(|(name, _)| *name).collect();
            return Err(top
                .source
                .wrong(said.at, format!("no reader is called `{}`; there is {}", said.text, list(&known))));
        };
        let mut classes = Vec::new();
        if let Some(keys) = top.table("classes", "[classes]", &[])? {
            for (class, _) in keys.all() {
                for said in keys.texts(class.text)? {
                    let whole = format!("^(?:{})$", said.text);
                    classes.push((pattern(top.source, said, &whole)?, lasting(class.text)));
                }
            }
        }
        let (words, pace) = (Words::read(top)?, Pace::of(top, name)?);
        Ok(Some(Coded { name, words, pace, classes, reader: *reader }))
    }

    pub(super) fn run(&self, input: &mut Input<'_>, out: &mut Out<'_>) {
        (self.reader)(self, input, out);
    }

    /// The tool, whose command may stand above its output.
    pub(crate) fn tool(&self) -> unix::times::Tool {
        self.pace.tool
    }

    /// Fewer rows than this between two headers, and the tool was begun anew.
    pub(crate) fn header_every(&self) -> u32 {
        self.pace.header_every
    }
}

/// The classes of devices, each found once.
#[derive(Debug, Default)]
pub(crate) struct Classes(FxHashMap<String, Option<&'static str>>);

impl Classes {
    /// The class of a device, if its name says one.
    pub(crate) fn of(&mut self, device: &str, coded: &Coded) -> Option<&'static str> {
        if let Some(class) = self.0.get(device) {
            return *class;
        }
        let class = coded.classes.iter().find(|(pattern, _)| pattern.is_match(device)).map(|(_, class)| *class);
        if self.0.len() < MOST_DEVICES {
            self.0.insert(device.to_owned(), class);
        }
        class
    }
}
