//! Files of named numbers (`/proc/meminfo`, `/proc/vmstat`, `/proc/net/snmp` and their like), and the
//! columns made of them.
//!
//! Kernels add, rename and drop names, so everything is found by name, and what is not there is
//! NULL. A file's layout does not change while a system runs: it is learnt once and then only checked.

use std::fmt::Write;

use fenxi_model::{Place, Row, Rows, place::F64};

use super::scan::{lines, next_number, words};
use crate::{Counter, Step, Tick, Width};

/// Conversion of a named number: gauge, rate, count, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum As {
    /// It is a value at a moment.
    Gauge,
    /// It is a counter, and the column is its growth per second.
    Rate,
    /// It is a counter, and the column is its growth in the interval.
    Count,
    /// It is a gauge that fills no column by itself.
    Aside,
}

/// One column of the table whose schema is `S`, and the names whose numbers are added up for it (`Section.Name` in files of sections).
#[derive(Debug)]
pub struct Wanted<S> {
    /// The column's place in the table; of no use for [`As::Aside`].
    pub place: Place<S, F64>,
    /// Conversion of the number.
    pub kind: As,
    /// Factor from the file's unit to the column's.
    pub factor: f64,
    /// Names of the number in all kernels; those that are there are added up.
    pub keys: &'static [&'static str],
}

/// Shorthand for the lists of columns.
pub const fn wanted<S>(place: Place<S, F64>, kind: As, factor: f64, keys: &'static [&'static str]) -> Wanted<S> {
    Wanted { place, kind, factor, keys }
}

/// The numbers of one sample and the counters behind them.
#[derive(Debug)]
pub struct Meters<S: 'static> {
    wanted: &'static [Wanted<S>],
    /// The sections of the names that have one.
    sections: Vec<&'static [u8]>,
    values: Vec<Option<u64>>,
    counters: Vec<Counter>,
    grown: Vec<Option<u64>>,
}

impl<S> Meters<S> {
    pub fn new(wanted: &'static [Wanted<S>]) -> Meters<S> {
        let n = wanted.len();
        let keys = wanted.iter().flat_map(|w| w.keys);
        let mut sections: Vec<_> = keys.filter_map(|k| Some(k.split_once('.')?.0.as_bytes())).collect();
        sections.sort_unstable();
        sections.dedup();
        Meters { wanted, sections, values: vec![None; n], counters: vec![Counter::default(); n], grown: vec![None; n] }
    }

    /// Forgets the values of the sample before; its counters stay.
    pub fn begin(&mut self) {
        self.values.fill(None);
    }

    fn add(&mut self, slot: usize, value: u64) {
        let sum = &mut self.values[slot];
        *sum = Some(sum.unwrap_or(0).saturating_add(value));
    }

    /// Steps all counters; those that went back are reported in one event about `subject`.
    pub fn advance(&mut self, subject: &str, tick: Tick, rows: &mut Rows) {
        let mut resets = Resets::default();
        for (i, wanted) in self.wanted.iter().enumerate() {
            if !matches!(wanted.kind, As::Rate | As::Count) {
                continue;
            }
            let Some(value) = self.values[i] else {
                // A counter that comes back later must not count the time it was away.
                self.counters[i] = Counter::default();
                self.grown[i] = None;
                continue;
            };
            self.grown[i] = match tick.step(&mut self.counters[i], value, Width::Bits32) {
                Step::By(n) => Some(n),
                Step::First => None,
                Step::Reset => {
                    resets.add(wanted.keys[0]);
                    None
                }
            };
        }
        resets.report(subject, tick, rows);
    }

    /// Sets the columns of the interval of `dt` seconds that ended with this sample.
    pub fn fill(&self, row: &mut Row<'_, S>, dt: f64) {
        for (i, wanted) in self.wanted.iter().enumerate() {
            let value = match wanted.kind {
                As::Gauge => self.values[i].map(|v| v as f64 * wanted.factor),
                As::Rate => self.grown[i].map(|n| n as f64 * wanted.factor / dt),
                As::Count => self.grown[i].map(|n| n as f64 * wanted.factor),
                As::Aside => None,
            };
            row.f64(wanted.place, value);
        }
    }

    /// The value that has `key` as its first name.
    pub fn value(&self, key: &str) -> Option<u64> {
        self.slot_of(key).and_then(|slot| self.values[slot])
    }

    /// The growth of the counter that has `key` as its first name.
    pub fn grown(&self, key: &str) -> Option<u64> {
        self.slot_of(key).and_then(|slot| self.grown[slot])
    }

    fn slot_of(&self, first_key: &str) -> Option<usize> {
        self.wanted.iter().position(|w| w.keys[0] == first_key)
    }

    fn find(&self, is_key: impl Fn(&str) -> bool) -> Option<usize> {
        self.wanted.iter().position(|w| w.keys.iter().any(|k| is_key(k)))
    }

    fn find_in(&self, section: &[u8], name: &[u8]) -> Option<usize> {
        let is_key = |k: &str| k.split_once('.').is_some_and(|(s, n)| s.as_bytes() == section && n.as_bytes() == name);
        self.find(is_key)
    }

    /// Takes lines such as `TCP: inuse 1 orphan 0` (`/proc/net/sockstat`): a section, then names with their numbers.
    pub fn take_sockets(&mut self, text: &[u8]) {
        for line in lines(text) {
            let mut words = words(line);
            let Some(section) = words.next().and_then(|w| w.strip_suffix(b":")) else { continue };
            if !self.sections.contains(&section) {
                continue;
            }
            while let (Some(name), Some(value)) = (words.next(), words.next()) {
                let value = super::scan::number(value);
                if let (Some(slot), Some(value)) = (self.find_in(section, name), value) {
                    self.add(slot, value);
                }
            }
        }
    }
}

/// Counters that went back in one sample, reported in one event.
#[derive(Debug, Default)]
pub struct Resets {
    names: String,
    n: usize,
}

impl Resets {
    /// How many names an event spells out.
    const SPELT: usize = 8;

    /// Adds a counter that went back.
    pub fn add(&mut self, name: impl std::fmt::Display) {
        if self.n < Resets::SPELT {
            let comma = if self.n == 0 { "" } else { ", " };
            // Writing to a String cannot fail.
            let _ = write!(self.names, "{comma}{name}");
        }
        self.n += 1;
    }

    /// Adds the event, when there was any reset.
    pub fn report(self, subject: &str, tick: Tick, rows: &mut Rows) {
        let Resets { mut names, n } = self;
        if n == 0 {
            return;
        }
        if n > Resets::SPELT {
            let _ = write!(names, " and {} more", n - Resets::SPELT);
        }
        let counters = if n == 1 { "counter" } else { "counters" };
        rows.event(tick.t, "counter reset", subject, &format!("{counters} went back: {names}"));
    }
}

/// The layout of a file with one named number per line: `MemFree:   123 kB`, `pgfault 5`.
#[derive(Debug, Default)]
pub struct Lines {
    layout: Vec<Option<(Box<[u8]>, usize)>>,
    found: Vec<(usize, u64)>,
    unread: Option<u64>,
}

impl Lines {
    /// Adds the wanted numbers of `text` to `meters`.
    pub fn take<S>(&mut self, text: &[u8], meters: &mut Meters<S>) {
        if !self.follow(text) {
            self.learn(text, meters);
            self.follow(text);
        }
        for (slot, value) in self.found.drain(..) {
            meters.add(slot, value);
        }
    }

    /// The first wanted line (from 1) whose number could not be read, reported once per change of layout.
    pub fn unread(&mut self) -> Option<u64> {
        self.unread.take()
    }

    fn learn<S>(&mut self, text: &[u8], meters: &Meters<S>) {
        self.layout.clear();
        self.unread = None;
        for (i, line) in lines(text).enumerate() {
            let end = line.iter().position(|b| matches!(b, b':' | b' ' | b'\t')).unwrap_or(line.len());
            let slot = meters.find(|k| k.as_bytes() == &line[..end]);
            // With what ends the name, so that `pgscan_direct` is not taken for `pgscan_direct_throttle`.
            let key = &line[..(end + 1).min(line.len())];
            if slot.is_some() && next_number(&line[key.len()..]).is_none() {
                self.unread.get_or_insert(i as u64 + 1);
            }
            self.layout.push(slot.map(|slot| (key.into(), slot)));
        }
    }

    /// Finds the wanted numbers where they were; false when the layout is another one.
    fn follow(&mut self, text: &[u8]) -> bool {
        self.found.clear();
        let mut n = 0;
        for line in lines(text) {
            let Some(entry) = self.layout.get(n) else { return false };
            n += 1;
            if let Some((key, slot)) = entry {
                let Some(rest) = line.strip_prefix(&**key) else { return false };
                if let Some((value, _)) = next_number(rest) {
                    self.found.push((*slot, value));
                }
            }
        }
        n == self.layout.len()
    }
}

/// The layout of a file of pairs of lines: `Tcp: ActiveOpens …` above `Tcp: 97 …`.
#[derive(Debug, Default)]
pub struct Pairs {
    sections: Vec<Section>,
    unread: Option<u64>,
}

#[derive(Debug, Default)]
struct Section {
    header: Vec<u8>,
    /// The slot of each wanted word of the lower line, and its place in the line.
    places: Vec<(usize, usize)>,
}

impl Pairs {
    /// The first line of numbers (from 1) that does not fit the names above it, reported once per change of layout.
    pub fn unread(&mut self) -> Option<u64> {
        self.unread.take()
    }

    /// Adds the wanted numbers of `text` to `meters`; a number that is missing in the lower line stays missing.
    pub fn take<S>(&mut self, text: &[u8], meters: &mut Meters<S>) {
        let mut all = lines(text);
        let mut n = 0;
        while let (Some(header), Some(values)) = (all.next(), all.next()) {
            if self.sections.len() == n {
                self.sections.push(Section::default());
            }
            let section = &mut self.sections[n];
            n += 1;
            if section.header != header {
                section.learn(header, meters);
                if section.last_word() >= words(values).count() || words(header).next() != words(values).next() {
                    self.unread.get_or_insert(2 * n as u64);
                }
            }
            let mut words = words(values);
            let mut place = 0;
            for (wanted, slot) in &section.places {
                let word = words.nth(wanted - place);
                place = wanted + 1;
                // Gauges may be negative (`MaxConn -1`): those are no numbers here.
                if let Some(value) = word.and_then(super::scan::number) {
                    meters.add(*slot, value);
                }
            }
        }
    }
}

impl Section {
    /// The last wanted word of the lower line.
    fn last_word(&self) -> usize {
        self.places.last().map_or(0, |(place, _)| *place)
    }

    fn learn<S>(&mut self, header: &[u8], meters: &Meters<S>) {
        self.header = header.to_vec();
        let mut names = words(header).enumerate();
        let name = names.next().and_then(|(_, w)| w.strip_suffix(b":")).unwrap_or_default();
        self.places = names.filter_map(|(place, word)| Some((place, meters.find_in(name, word)?))).collect();
    }
}
