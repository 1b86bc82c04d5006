//! `vm_stat` of macOS: once, as a list, or with an interval, as rows.
//!
//! Everything is in pages, whose size is in the title. In rows the first seven columns and those
//! of the compressor are amounts at a moment, the others counts over the interval. The tool forgets
//! what it had counted whenever it prints its header: the row after it is since boot.

use fenxi_model::{
    Micros, Place,
    catalog::{mem, vm},
    place::F64,
};

use super::times::{Times, Tool};
use crate::{Family, Fields, Format, Head, Input, Out, Splitter, Sure, number, scaled};

/// Importer for vm_stat of macOS, with an interval or without.
pub static FORMAT: Format = Format {
    name: "vm-stat",
    summary: "vm_stat of macOS, with an interval or without",
    family: Family::Unix,
    tables: &[&mem::TABLE, &vm::TABLE],
    example: "\
Mach Virtual Memory Statistics: (page size of 16384 bytes)
Pages free:                              123456.
Pages active:                            789012.
",
    sniff,
    read,
};

const TOOL: Tool =
    Tool { name: "vm_stat", takes: "c", every: None, counters: false, default_s: 1.0, first_since_boot: true };

fn sniff(head: &Head<'_>) -> Sure {
    Sure::Certain.when(head.any(|line| line.starts_with("Mach Virtual Memory Statistics:")))
}

/// Where a number goes.
#[derive(Clone, Copy)]
enum To {
    /// Pages at a moment.
    Mem(Place<mem::Schema, F64>),
    /// Pages or events counted: a rate of the `vm` table, in pages or in bytes.
    Pages(Place<vm::Schema, F64>),
    Bytes(Place<vm::Schema, F64>),
    /// A metric: an amount at a moment, or counted.
    Gauge,
    Counted,
}

/// Words of the header and of the list, and where they go.
const NAMES: &[(&str, &str, To)] = &[
    ("free", "Pages free", To::Mem(mem::free_bytes)),
    ("active", "Pages active", To::Mem(mem::active_bytes)),
    ("specul", "Pages speculative", To::Gauge),
    ("inactive", "Pages inactive", To::Mem(mem::inactive_bytes)),
    ("throttle", "Pages throttled", To::Gauge),
    ("wired", "Pages wired down", To::Mem(mem::mlocked_bytes)),
    ("prgable", "Pages purgeable", To::Gauge),
    ("faults", "Translation faults", To::Pages(vm::faults_per_s)),
    ("copy", "Pages copy-on-write", To::Counted),
    ("0fill", "Pages zero filled", To::Counted),
    ("reactive", "Pages reactivated", To::Counted),
    ("purged", "Pages purged", To::Counted),
    ("file-backed", "File-backed pages", To::Mem(mem::cached_bytes)),
    ("anonymous", "Anonymous pages", To::Mem(mem::anon_bytes)),
    ("cmprssed", "Pages stored in compressor", To::Gauge),
    ("cmprssor", "Pages occupied by compressor", To::Gauge),
    ("dcomprs", "Decompressions", To::Counted),
    ("comprs", "Compressions", To::Counted),
    ("pageins", "Pageins", To::Bytes(vm::page_in_bytes_per_s)),
    ("pageout", "Pageouts", To::Bytes(vm::page_out_bytes_per_s)),
    ("swapins", "Swapins", To::Pages(vm::swap_in_pages_per_s)),
    ("swapouts", "Swapouts", To::Pages(vm::swap_out_pages_per_s)),
];

/// The values of one row or list, in the order of [`NAMES`]; NaN where missing.
type Pages = [f64; NAMES.len()];

struct Reader {
    times: Times,
    page: f64,
    /// Which of [`NAMES`] each column of the header is.
    columns: Vec<Option<usize>>,
    /// A list being read, and the one before it.
    list: Option<(Micros, Pages)>,
    before: Option<(Micros, Pages)>,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let times = Times::new(input, out, TOOL);
    let mut reader = Reader { times, page: f64::NAN, columns: Vec::new(), list: None, before: None };
    let mut splitter = Splitter::default();
    input.each_line(|number, line| reader.line(number, line, &mut splitter, out));
    reader.end(out);
    out.since_boot(false);
}

impl Reader {
    fn line(&mut self, number: u64, line: &str, splitter: &mut Splitter, out: &mut Out<'_>) {
        let line = self.times.strip(line, out).trim();
        if line.is_empty() || self.times.knows(line) || line.starts_with("Object cache:") {
            return;
        }
        if let Some(title) = line.strip_prefix("Mach Virtual Memory Statistics:") {
            self.end(out);
            self.columns.clear();
            let size = title.split("page size of ").nth(1).and_then(|t| t.split(' ').next());
            self.page = size.and_then(crate::number).unwrap_or(f64::NAN);
            // Figures below a header are counted from boot.
            self.times.restart();
        } else if let Some((name, value)) = line.split_once(':') {
            self.item(number, name.trim_matches('"'), value.trim().trim_end_matches('.'), out);
        } else {
            let fields = splitter.blanks(line);
            if fields.get(0) == "free" {
                let place = |word| NAMES.iter().position(|(short, ..)| *short == word);
                self.columns = fields.iter().map(place).collect();
            } else if line.as_bytes()[0].is_ascii_digit() {
                self.row(number, &fields, out);
            } else {
                out.unknown(number, line, "neither header nor counts");
            }
        }
    }

    /// One line of the list.
    fn item(&mut self, line: u64, name: &str, value: &str, out: &mut Out<'_>) {
        let Some(value) = number(value) else {
            out.unknown(line, value, "no number of pages");
            return;
        };
        if self.list.is_none() {
            let (t, _) = self.times.begin(out);
            self.list = Some((t, [f64::NAN; NAMES.len()]));
        }
        let Some((t, pages)) = &mut self.list else { return };
        match NAMES.iter().position(|(_, long, _)| *long == name) {
            Some(at) => pages[at] = value,
            None => out.metric(*t, None, &format!("vm-stat.{name}"), "", value, ""),
        }
    }

    fn row(&mut self, line: u64, fields: &Fields<'_>, out: &mut Out<'_>) {
        if fields.len() != self.columns.len() {
            out.wrong_count(line, fields.rest(0), fields.len(), self.columns.len());
            return;
        }
        let mut pages: Pages = [f64::NAN; NAMES.len()];
        for (column, at) in self.columns.iter().enumerate() {
            let cell = fields.get(column).trim_end_matches('.');
            if let (Some(at), Some(value)) = (at, number(cell).or_else(|| scaled(cell, 1000.0))) {
                pages[*at] = value;
            }
        }
        let (t, dt) = self.times.begin(out);
        self.write(t, dt, &pages, out);
    }

    /// A list is complete: counts since boot become those since the list before.
    fn end(&mut self, out: &mut Out<'_>) {
        let Some((t, pages)) = self.list.take() else { return };
        let Some((last, before)) = self.before.replace((t, pages)) else {
            self.write(t, None, &pages, out);
            return;
        };
        let mut grown = pages;
        for (at, (_, _, to)) in NAMES.iter().enumerate() {
            if matches!(to, To::Pages(_) | To::Bytes(_) | To::Counted) {
                let counted = pages[at] - before[at];
                grown[at] = if counted >= 0.0 { counted } else { f64::NAN };
            }
        }
        let told = self.times.are_told() || out.hints().interval_s.is_some();
        let dt = Some(t.seconds_since(last)).filter(|dt| told && *dt > 0.0);
        self.write(t, dt, &grown, out);
    }

    /// Writes amounts as they are and counts as rates; without an interval they are since boot.
    fn write(&self, t: Micros, dt: Option<f64>, pages: &Pages, out: &mut Out<'_>) {
        let page = Some(self.page).filter(|page| !page.is_nan());
        let values = || NAMES.iter().zip(pages).filter(|(_, value)| !value.is_nan());
        out.since_boot(false);
        let mut row = out.row(&mem::TABLE, t, dt);
        for ((_, _, to), value) in values() {
            if let (To::Mem(place), Some(page)) = (to, page) {
                row.f64(*place, value * page);
            }
        }
        if let Some(seconds) = dt {
            let mut row = out.row(&vm::TABLE, t, dt);
            for ((_, _, to), value) in values() {
                match to {
                    To::Pages(place) => row.f64(*place, value / seconds),
                    To::Bytes(place) => row.f64(*place, page.map(|page| value * page / seconds)),
                    _ => &mut row,
                };
            }
        }
        for ((_, name, to), value) in values() {
            let name = format!("vm-stat.{name}");
            match (to, dt) {
                (To::Mem(_), _) => {}
                (To::Gauge, _) => out.metric(t, dt, &name, "", *value, "pages"),
                (To::Counted, Some(seconds)) => out.metric(t, dt, &name, "", value / seconds, "/s"),
                (_, Some(_)) => {}
                (_, None) => {
                    out.since_boot(true);
                    out.metric(t, None, &name, "", *value, "");
                    out.since_boot(false);
                }
            }
        }
    }
}
