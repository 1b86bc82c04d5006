//! Which column of which section is which column of the tables.

use std::sync::LazyLock;

use fenxi_model::{Table, catalog::cpu};

use crate::{
    Fields,
    own::{
        Goal,
        words::{Word, Words},
    },
};

/// Where a column goes.
pub(super) enum Target {
    /// To a table, in the row of `key`.
    Join {
        table: &'static Table,
        key: String,
        place: usize,
        scale: f64,
    },
    Metric {
        name: String,
        labels: String,
    },
    /// It follows from others.
    Skip,
}

pub(super) struct Column {
    pub(super) target: Target,
    /// Its figures are counts in the interval.
    pub(super) over_interval: bool,
}

/// The columns of one section.
pub(super) struct Section {
    pub(super) columns: Vec<Column>,
}

/// Meanings of its titles.
static WORDS: LazyLock<Words> =
    LazyLock::new(|| Words::shipped(include_str!("../../../../../formats/linux/nmon.toml")));
/// The group of sections whose columns are devices or mount points.
const DEVICES: &str = "devices";

impl Section {
    /// From a line of titles: the section, what it is of, then the columns.
    pub(super) fn new(titles: &Fields<'_>, small_pages: bool) -> Section {
        let full = titles.get(0);
        // Where there are many disks, a section comes in parts: DISKREAD, DISKREAD1, DISKREAD2.
        let name = full.trim_end_matches(|c: char| c.is_ascii_digit());
        let number: Option<u32> = full.get(name.len()..).and_then(|n| n.parse().ok());
        let columns = titles.from(2);
        let columns = columns.iter().map(|title| column(name, number, title, small_pages)).collect();
        Section { columns }
    }
}

fn column(section: &str, number: Option<u32>, title: &str, small_pages: bool) -> Column {
    let kind = if section == "CPU_ALL" { "CPU" } else { section };
    let over_interval = section == "VM" && !title.starts_with("nr_");
    let to = |table: &'static Table, key: &str, place, scale| Column {
        target: Target::Join { table, key: key.to_owned(), place, scale },
        over_interval,
    };
    if title.is_empty() {
        return Column { target: Target::Skip, over_interval };
    }
    match WORDS.find(kind, title) {
        // Amounts at a moment are counted in pages, whose size not every system prints.
        Some(Goal::Column { .. }) if section == "VM" && !over_interval && !small_pages => {}
        Some(Goal::Column { table, place, scale, .. }) => {
            // CPU001 is the first, which systems call 0.
            let cpu = number.filter(|_| table.id == cpu::TABLE.id).map(|n| n.saturating_sub(1).to_string());
            return to(table, cpu.as_deref().unwrap_or(""), *place, *scale);
        }
        Some(_) => return Column { target: Target::Skip, over_interval },
        None => {}
    }
    if let Some(Goal::Column { table, place, scale, .. }) = WORDS.find(DEVICES, section) {
        return to(table, title, *place, *scale);
    }
    let interface = |word: &'static Word| Some((title.strip_suffix(word.word.strip_prefix('*')?)?, &word.goal));
    let mut interfaces = WORDS.iter().filter(|word| word.group == section).filter_map(interface);
    if let Some((device, Goal::Column { table, place, scale, .. })) = interfaces.next() {
        return to(table, device, *place, *scale);
    }
    Column { target: metric(section, number, title), over_interval }
}

/// A column of no table: of a device where the section has one column a device.
fn metric(section: &str, number: Option<u32>, title: &str) -> Target {
    if section.starts_with("DISK") || section.starts_with("DG") || section.starts_with("VG") {
        return Target::Metric {
            name: format!("nmon.{section}"),
            labels: format!("device={}", title.replace(',', "_")),
        };
    }
    let labels = match number {
        Some(n) if section.ends_with("CPU") => format!("cpu={}", n.saturating_sub(1)),
        Some(n) => format!("number={n}"),
        None => String::new(),
    };
    Target::Metric { name: format!("nmon.{section}.{title}"), labels }
}
