//! Page summary: one table at a time, or one line per interval.

use std::fmt::Write;

use fenxi_model::catalog::{mem, page_cache};

use super::{
    MB, is_narrow, mb,
    parts::{Parts, sum},
    wrap,
};
use crate::{Frame, View};

/// Layout of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// A table of one moment, a line each of several.
    Fitting,
    /// A line each from the first one on.
    Lines,
}

/// Shows `mem`, with executables and libraries from `page_cache`.
#[derive(Debug)]
pub struct Summary {
    layout: Layout,
    page_size: f64,
    width: Option<usize>,
    /// The first moment, until it is known whether it is the only one.
    held: Option<Moment>,
    lines: usize,
}

#[derive(Clone, Copy, Debug)]
struct Moment {
    parts: Parts,
    available: Option<f64>,
    anon_huge: Option<f64>,
    vmalloc: Option<f64>,
    swap: Option<(f64, f64)>,
}

/// Lines between two headings.
const HEADING_EVERY: usize = 20;

impl Summary {
    /// Shows pages of `page_size` bytes, on a terminal of `width` columns if it is one.
    pub fn new(layout: Layout, page_size: u64, width: Option<usize>) -> Summary {
        Summary { layout, page_size: page_size as f64, width, held: None, lines: 0 }
    }

    fn line(&mut self, moment: &Moment, out: &mut String) {
        let p = &moment.parts;
        let huge = sum(&[p.huge_used, p.huge_free]);
        let all = [
            ("kernel", p.kernel()),
            ("anon", p.anon),
            ("shared", p.shared),
            ("exec", p.exec),
            ("cache", p.clean),
            ("dirty", p.dirty),
            ("huge", huge),
            ("free", p.free),
            ("total", p.total),
        ];
        // In few columns, all page cache is one.
        let cache = sum(&[p.exec, p.clean, p.dirty]);
        let few = [all[0], all[1], ("shm", p.shared), ("cache", cache), all[6], all[7]];
        let (columns, width) = if is_narrow(self.width) { (&few[..], 6) } else { (&all[..], 8) };
        if self.lines.is_multiple_of(HEADING_EVERY) {
            for (name, _) in columns {
                let _ = write!(out, "{name:>width$}");
            }
            out.push('\n');
        }
        self.lines += 1;
        for (_, value) in columns {
            cell(*value, width, out);
        }
        out.push('\n');
    }

    fn table(&self, moment: &Moment, out: &mut String) {
        let p = &moment.parts;
        self.cells(["Page summary", "Pages", "MB", "%Tot"], out);
        self.cells([&"-".repeat(24), &"-".repeat(10), &"-".repeat(6), "-----"], out);
        for (name, value) in [
            ("Kernel slab, fixed", p.slab_fixed),
            ("Kernel slab, reclaimable", p.slab_reclaimable),
            ("Kernel stacks", p.stacks),
            ("Page tables", p.page_tables),
            ("Per-CPU data", p.per_cpu),
            ("Compressed swap (zswap)", p.zswap.filter(|b| *b > 0.0)),
            ("Other kernel", p.other),
            ("Anonymous", p.anon),
            ("Shared memory and tmpfs", p.shared),
            ("Executables and libraries", p.exec),
            ("Page cache, clean", p.clean),
            ("Page cache, dirty", p.dirty),
            ("Huge pages, used", p.huge_used),
            ("Huge pages, free", p.huge_free),
            ("Free", p.free),
            ("Counted twice", p.twice.map(|twice| -twice)),
        ] {
            let seldom = name.starts_with("Compressed") || name.starts_with("Counted");
            if value.is_some() || !seldom {
                self.row(name, value, p.total, out);
            }
        }
        self.row("Total", p.total, p.total, out);
        remarks(moment, self.width, out);
    }

    fn cells(&self, [name, pages, mb, percent]: [&str; 4], out: &mut String) {
        let _ = if is_narrow(self.width) {
            writeln!(out, "{name:<25}{mb:>8}{percent:>7}")
        } else {
            writeln!(out, "{name:<28}{pages:>12}{mb:>10}{percent:>7}")
        };
    }

    fn row(&self, name: &str, bytes: Option<f64>, total: Option<f64>, out: &mut String) {
        let pages = bytes.map_or_else(|| "-".to_owned(), |b| format!("{:.0}", b / self.page_size));
        let mb = bytes.map_or_else(|| "-".to_owned(), |b| format!("{:.0}", b / MB));
        let percent = match (bytes, total) {
            (Some(bytes), Some(total)) if total > 0.0 => format!("{:.1}", bytes / total * 100.0),
            _ => "-".to_owned(),
        };
        self.cells([name, &pages, &mb, &percent], out);
    }
}

/// MB in a column of `width`; GB with a `G` where these do not fit.
fn cell(bytes: Option<f64>, width: usize, out: &mut String) {
    let text = match bytes {
        None => "-".to_owned(),
        Some(bytes) => {
            let mb = format!("{:.0}", bytes / MB);
            if mb.len() < width { mb } else { format!("{:.0}G", bytes / MB / 1024.0) }
        }
    };
    let _ = write!(out, "{text:>width$}");
}

/// Quantities that are no separate part, and those not known.
fn remarks(moment: &Moment, width: Option<usize>, out: &mut String) {
    let mut say = |text: &str| wrap(text, 2, width, out);
    say("");
    if let Some(available) = moment.available {
        say(&format!("Available without swapping: {}", mb(available)));
    }
    if let Some((used, total)) = moment.swap.filter(|(_, total)| *total > 0.0) {
        say(&format!("Swap used: {} of {}", mb(used), mb(total)));
    }
    if let Some(huge) = moment.anon_huge.filter(|b| *b > 0.0) {
        say(&format!("Transparent huge pages, in Anonymous: {}", mb(huge)));
    }
    if let Some(vmalloc) = moment.vmalloc.filter(|b| *b > 0.0) {
        say(&format!("Taken by vmalloc, in Kernel stacks and Other kernel: {}", mb(vmalloc)));
    }
    match (moment.parts.exec, moment.parts.unseen) {
        (None, (files, processes)) if files + processes > 0.0 => {
            say("Executables and libraries cannot be queried by this user: they are in Page cache, clean");
        }
        (None, _) => say("Executables and libraries are unknown here: they are in Page cache, clean"),
        (Some(_), (files, processes)) if files + processes > 0.0 => {
            let unseen: Vec<String> = [(files, "file"), (processes, "process")]
                .into_iter()
                .filter(|(n, _)| *n > 0.0)
                .map(|(n, what)| match (n == 1.0, what) {
                    (true, _) => format!("1 {what}"),
                    (false, "process") => format!("{n:.0} processes"),
                    (false, _) => format!("{n:.0} {what}s"),
                })
                .collect();
            say(&format!(
                "Executables and libraries: at least; {} could not be looked into (the rest is in Page cache, clean)",
                unseen.join(" and ")
            ));
        }
        _ => {}
    }
}

impl View for Summary {
    fn frame(&mut self, frame: &Frame<'_>, out: &mut String) {
        let Some(rows) = frame.rows.of(&mem::TABLE) else { return };
        let get = |place| rows.f64(0, place);
        let moment = Moment {
            parts: Parts::of(rows, 0, frame.rows.of(&page_cache::TABLE)),
            available: get(mem::available_bytes),
            anon_huge: get(mem::anon_huge_bytes),
            vmalloc: get(mem::vmalloc_bytes),
            swap: get(mem::swap_used_bytes).zip(get(mem::swap_total_bytes)),
        };
        if self.layout == Layout::Fitting && self.lines == 0 && self.held.is_none() {
            self.held = Some(moment);
            return;
        }
        if let Some(first) = self.held.take() {
            self.line(&first, out);
        }
        self.line(&moment, out);
    }

    fn end(&mut self, out: &mut String) {
        if let Some(only) = self.held.take() {
            self.table(&only, out);
        }
    }
}
