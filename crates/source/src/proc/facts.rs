//! System facts, read at the start and at the end of a recording.
//!
//! One file per group of topics; each reads files below the root and gives facts. Only what stays
//! the same unless somebody or something changes it is a fact: no counters, no amounts in use. What
//! differs between start and end becomes an event `fact changed`.

mod asked;
mod block;
mod cpu;
mod ethtool;
mod host;
mod limits;
mod memory;
mod nic;
mod sysctl;

use std::collections::BTreeMap;

use fenxi_model::{
    Rows,
    catalog::text::{self, TABLE},
};

use crate::{Collector, Root, Source, SourceError, Spec, Take, Tick};

/// Longer values are cut: a fact is a line or two, not a file.
const MAX_VALUE: usize = 8192;

/// The topics, each a function that reads its facts.
const TOPICS: &[fn(&Root, &mut Facts)] = &[
    host::kernel,
    host::os,
    host::virtualisation,
    cpu::model,
    cpu::topology,
    cpu::caches,
    cpu::vulnerabilities,
    cpu::frequency,
    memory::memory,
    memory::huge_pages,
    memory::numa,
    host::mounts,
    sysctl::sysctl,
    cpu::idle_states,
    block::block,
    block::btrfs,
    nic::nic,
    limits::cgroup,
    limits::ulimit,
    asked::asked,
];

pub struct FactsSource;

/// The source.
pub static SOURCE: FactsSource = FactsSource;

static SPEC: Spec = Spec {
    name: "facts",
    summary: "what the system is and how it is set up, at start and end; changes are marked",
    tables: &[&TABLE],
    take: Take::StartAndEnd,
    default: true,
    live: false,
};

impl Source for FactsSource {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn start(&self, root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        Ok(Box::new(Reader { root: root.clone(), start: None }))
    }
}

/// Facts by topic and name.
#[derive(Debug, Default, PartialEq)]
pub struct Facts {
    known: BTreeMap<(&'static str, String), String>,
}

impl Facts {
    /// Adds a fact; an empty value is none.
    pub fn add(&mut self, topic: &'static str, name: impl Into<String>, value: impl Into<String>) {
        let mut value: String = value.into();
        if value.len() > MAX_VALUE {
            let end = (0..=MAX_VALUE).rev().find(|i| value.is_char_boundary(*i)).unwrap_or(0);
            value.truncate(end);
            value.push('…');
        }
        let trimmed = value.trim();
        if !trimmed.is_empty() {
            let value = if trimmed.len() == value.len() { value } else { trimmed.to_owned() };
            self.known.insert((topic, name.into()), value);
        }
    }

    /// Adds the content of a file, if it is there.
    pub fn add_file(&mut self, root: &Root, topic: &'static str, name: impl Into<String>, path: &str) {
        if let Some(value) = root.read_text(path) {
            self.add(topic, name, value);
        }
    }

    /// Each fact's topic, name and value, in order.
    pub fn each(&self) -> impl Iterator<Item = (&'static str, &str, &str)> {
        self.known.iter().map(|((topic, name), value)| (*topic, name.as_str(), value.as_str()))
    }

    fn read(root: &Root) -> Facts {
        let mut facts = Facts::default();
        for topic in TOPICS {
            topic(root, &mut facts);
        }
        facts
    }
}

/// Names in a folder, in order; none when it is not there.
pub(super) fn names(root: &Root, folder: &str) -> Vec<String> {
    let found = root.list(folder).unwrap_or_default();
    let mut names: Vec<String> = found.iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

struct Reader {
    root: Root,
    start: Option<Facts>,
}

impl Collector for Reader {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        let facts = Facts::read(&self.root);
        let phase = if tick.dt.is_none() { "start" } else { "end" };
        for (topic, name, value) in facts.each() {
            rows.row(&TABLE, tick.t, None)
                .str(text::topic, topic)
                .str(text::name, name)
                .str(text::phase, phase)
                .text(text::value, value);
        }
        match &self.start {
            Some(start) if tick.dt.is_some() => report_changes(start, &facts, tick, rows),
            _ => self.start = Some(facts),
        }
        Ok(())
    }
}

/// An event for each fact that is not at the end what it was at the start.
pub(super) fn report_changes(start: &Facts, end: &Facts, tick: Tick, rows: &mut Rows) {
    let mut report = |key: &(&str, String), old: &str, new: &str| {
        rows.event(tick.t, "fact changed", &format!("{}.{}", key.0, key.1), &format!("{old} -> {new}"));
    };
    for (key, old) in &start.known {
        match end.known.get(key) {
            Some(new) if new == old => {}
            Some(new) => report(key, old, new),
            None => report(key, old, "(none)"),
        }
    }
    for (key, new) in end.known.iter().filter(|(key, _)| !start.known.contains_key(*key)) {
        report(key, "(none)", new);
    }
}

#[cfg(test)]
mod tests;
