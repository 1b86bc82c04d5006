//! Meanings of the columns under a line of titles.

use std::sync::LazyLock;

use fenxi_model::{
    Kind, Micros, Table,
    catalog::{cpu, disk, irq, mem, net},
};

use super::{super::joins::Joins, process::Process};
use crate::{
    CpuMean, Fields, Out, number,
    own::{
        Goal,
        words::{Word, Words},
    },
    scaled,
};

/// Meanings of its titles.
static WORDS: LazyLock<Words> =
    LazyLock::new(|| Words::shipped(include_str!("../../../../../formats/linux/collectl.toml")));

enum Target {
    Join { table: &'static Table, key: Option<String>, place: usize, scale: f64 },
    Metric { name: String, labels: String },
    Skip,
}

/// The row of all CPUs, where only single ones have lines.
#[derive(Default)]
pub(super) struct AllCpus {
    mean: CpuMean,
    /// The CPU whose values came last.
    last: String,
    /// The text has the row itself.
    given: bool,
}

impl AllCpus {
    fn add(&mut self, key: &str, place: usize, value: f64) {
        if key.is_empty() {
            self.given = true;
            return;
        }
        if self.last != key {
            key.clone_into(&mut self.last);
            self.mean.cpu(key);
        }
        self.mean.add_to(place, value);
    }

    /// Ends a sample.
    pub(super) fn end(&mut self, time: Option<(Micros, Option<f64>)>, out: &mut Out<'_>) {
        if let (Some((t, dt)), false) = (time, self.given) {
            self.mean.write_whole(out, t, dt);
        }
        *self = AllCpus::default();
    }
}

/// Kind of the lines under the titles.
enum Shape {
    /// Figures; the column with the name of the device or the CPU's number, if there is one.
    Figures(Option<usize>),
    /// An interrupt, its figures on each CPU, and its name.
    Interrupts(Vec<String>),
    Processes(Process),
}

/// The columns under a line of titles.
pub(super) struct Plan {
    pub(super) separator: u8,
    /// Columns of the date and time at the beginning.
    pub(super) time_columns: usize,
    /// The time is in seconds since 1970.
    pub(super) utc: bool,
    /// Rates are counts of the interval.
    pub(super) per_interval: bool,
    columns: Vec<Target>,
    shape: Shape,
    /// Figures without a table are of memory, where `K` is 1024.
    memory: bool,
}

impl Plan {
    /// From the section's name, the line of groups and the line of titles; the first two may be
    /// empty.
    pub(super) fn new(section: &str, groups: &str, names: &str) -> Option<Plan> {
        let plot = names.contains('[');
        let separator = match names.find('[').and_then(|at| names.as_bytes().get(at.checked_sub(1)?)) {
            Some(b) if plot => *b,
            _ => b' ',
        };
        let words: Vec<(usize, &str)> = words(names, separator);
        let time_columns = words.iter().take_while(|(_, w)| matches!(*w, "Date" | "Time" | "UTC")).count();
        let utc = words.first().is_some_and(|(_, w)| *w == "UTC");
        let titles = words.get(time_columns..)?;
        if titles.is_empty() {
            return None;
        }
        let mut plan = Plan {
            separator,
            time_columns,
            utc,
            per_interval: false,
            columns: Vec::new(),
            shape: Shape::Figures(None),
            memory: section == "MEMORY" || groups.contains("Memory"),
        };
        let bare: Vec<&str> = titles.iter().map(|(_, title)| *title).collect();
        if bare.contains(&"PID") && bare.last() == Some(&"Command") {
            plan.shape = Shape::Processes(Process::new(&bare, plan.time_columns > 0 && bare.contains(&"VmSize")));
        } else if section == "INTERRUPT DETAILS" {
            let cpus = bare.iter().filter_map(|t| t.strip_prefix("Cpu")).map(str::to_owned).collect();
            plan.shape = Shape::Interrupts(cpus);
        } else if plot {
            plan.columns = bare.iter().map(|title| plotted(title)).collect();
        } else {
            plan.lay_out(section, groups, titles);
        }
        Some(plan)
    }

    /// The columns of a terminal's text.
    fn lay_out(&mut self, section: &str, groups: &str, titles: &[(usize, &str)]) {
        let mut used = vec![false; WORDS.iter().len()];
        for (i, (at, title)) in titles.iter().enumerate() {
            let group = if section.is_empty() { group_at(groups, *at, title.len()) } else { section };
            if matches!(*title, "Cpu" | "Name") && !section.is_empty() {
                self.shape = Shape::Figures(Some(i));
                self.columns.push(Target::Skip);
                continue;
            }
            let numbered = title.strip_prefix("Cpu").filter(|n| n.bytes().all(|b| b.is_ascii_digit()));
            if let (Some(cpu), "INTERRUPT" | "Int") = (numbered, group) {
                let key = Some(cpu.to_owned());
                self.columns.push(Target::Join { table: &cpu::TABLE, key, place: cpu::intr_per_s.index(), scale: 1.0 });
                continue;
            }
            // One that comes again is the next of that title.
            let found = WORDS.iter().zip(&mut used).find(|(word, used)| !**used && is(word, group, title));
            self.columns.push(match found {
                Some((word, used)) => {
                    *used = true;
                    target(word, None)
                }
                None if *title == "Num" => Target::Skip,
                None => self.metric(group, title),
            });
        }
    }

    /// A column of no table; one whose title was there before has its number behind it.
    fn metric(&self, group: &str, title: &str) -> Target {
        let plain = format!("collectl.{}.{title}", group.to_ascii_lowercase().replace(' ', "_"));
        let is_same = |t: &&Target| matches!(t, Target::Metric { name, .. } if name.trim_end_matches(['.', '2', '3', '4', '5']) == plain);
        let same = self.columns.iter().filter(is_same).count();
        let name = if same == 0 { plain } else { format!("{plain}.{}", same + 1) };
        Target::Metric { name, labels: String::new() }
    }

    /// The name or number of what a line is of; empty when the titles have none.
    pub(super) fn key<'a>(&self, fields: &Fields<'a>) -> &'a str {
        match &self.shape {
            Shape::Figures(Some(at)) => fields.get(self.time_columns + at),
            Shape::Figures(None) => "",
            Shape::Interrupts(_) | Shape::Processes(_) => fields.get(self.time_columns),
        }
    }

    /// The figures of a line, without its time.
    pub(super) fn write(
        &self,
        line: u64,
        time: (Micros, Option<f64>),
        fields: &Fields<'_>,
        (joins, all): (&mut Joins, &mut AllCpus),
        out: &mut Out<'_>,
    ) {
        match &self.shape {
            Shape::Figures(key) => {
                let key = key.map_or("", |at| fields.get(at));
                self.figures(line, time, key, fields, (joins, all), out);
            }
            Shape::Interrupts(cpus) => interrupts(line, time, cpus, fields, out),
            Shape::Processes(process) => process.write(line, time, fields, out),
        }
    }

    fn figures(
        &self,
        line: u64,
        (t, dt): (Micros, Option<f64>),
        row_key: &str,
        fields: &Fields<'_>,
        (joins, all): (&mut Joins, &mut AllCpus),
        out: &mut Out<'_>,
    ) {
        if fields.len() != self.columns.len() {
            out.wrong_count(line, fields.rest(0), fields.len(), self.columns.len());
            return;
        }
        for (column, cell) in self.columns.iter().zip(fields.iter()) {
            if matches!(column, Target::Skip) {
                continue;
            }
            let binary = match column {
                // The rate of swapping is printed as sizes are, unlike other rates.
                Target::Join { table, scale, .. } => table.id == mem::TABLE.id || *scale < 1.0,
                _ => self.memory,
            };
            let Some(value) = figure(cell, binary) else {
                if !matches!(cell, "" | "-" | "-1" | "nan") {
                    out.unknown(line, cell, "no number");
                }
                continue;
            };
            match column {
                Target::Join { table, key, place, scale } => {
                    let key = match key.as_deref().unwrap_or(row_key) {
                        "" if [disk::TABLE.id, net::TABLE.id].contains(&table.id) => "total",
                        key => key,
                    };
                    if table.id == cpu::TABLE.id && *place != cpu::intr_per_s.index() {
                        all.add(key, *place, value);
                    }
                    // Counters that were set back give negative rates.
                    let rate = table.columns.get(*place).is_some_and(|c| c.kind == Kind::Rate);
                    let value = Some(value * scale).filter(|v| !(rate && *v < 0.0));
                    let value = match self.per_interval && rate {
                        true => value.zip(dt).map(|(count, dt)| count / dt),
                        false => value,
                    };
                    joins.set(out, (t, dt), (table, *place), key, value);
                }
                Target::Metric { name, labels } => {
                    let own = if labels.is_empty() && !row_key.is_empty() {
                        format!("name={row_key}")
                    } else {
                        labels.clone()
                    };
                    out.metric(t, dt, name, &own, value, "");
                }
                Target::Skip => {}
            }
        }
    }
}

/// A figure with a factor behind it, also in the form of `-og`: `5g27` is 5.27 of them.
fn figure(cell: &str, binary: bool) -> Option<f64> {
    if let Some(value) = number(cell) {
        return Some(value);
    }
    let base = if binary { 1024.0 } else { 1000.0 };
    let letter = cell.find(|c: char| c.is_ascii_alphabetic())?;
    let (whole, rest) = (cell.get(..letter)?, cell.get(letter + 1..)?);
    let unit = cell.get(letter..=letter)?;
    if rest.is_empty() { scaled(cell, base) } else { scaled(&format!("{whole}.{rest}{unit}"), base) }
}

/// Begins the group of titles that are the sum over all devices.
const ALL: &str = "all ";

fn is(word: &Word, group: &str, title: &str) -> bool {
    word.word == title && word.group.strip_prefix(ALL).unwrap_or(&word.group) == group
}

/// Where the values below a title go, of a device where it names one.
fn target(word: &Word, device: Option<&str>) -> Target {
    let key = device.or(word.group.starts_with(ALL).then_some("total")).map(str::to_owned);
    match word.goal {
        Goal::Column { table, place, scale, .. } => Target::Join { table, key, place, scale },
        _ => Target::Skip,
    }
}

/// Words of a line of titles, with where they begin.
fn words(names: &str, separator: u8) -> Vec<(usize, &str)> {
    let mut words = Vec::new();
    let mut at = 0;
    for word in names.split(|c: char| c == char::from(separator) || c == ' ') {
        if !word.is_empty() {
            words.push((at, word));
        }
        at += word.len() + 1;
    }
    words
}

/// The name of the group whose brackets are above a title.
fn group_at(groups: &str, at: usize, len: usize) -> &str {
    let middle = at + len / 2;
    let begin = groups.get(..=middle.min(groups.len().saturating_sub(1))).and_then(|g| g.rfind('<')).unwrap_or(0);
    let end = groups.get(begin..).and_then(|g| g.find('>')).map_or(groups.len(), |end| begin + end);
    groups.get(begin..end).unwrap_or("").trim_matches(['<', '-', '>', ' '])
}

/// A column of a file for plotting: `[CPU]User%`, `[DSK:sda]Reads`.
fn plotted(title: &str) -> Target {
    let Some((group, name)) = title.strip_prefix('[').and_then(|t| t.split_once(']')) else {
        return Target::Metric { name: format!("collectl.{title}"), labels: String::new() };
    };
    let (kind, device) = group.split_once(':').map_or((group, ""), |(kind, device)| (kind, device));
    if name == "Name" {
        return Target::Skip;
    }
    match WORDS.iter().find(|word| is(word, kind, name)) {
        Some(word) => target(word, Some(device).filter(|device| !device.is_empty())),
        None => {
            let labels = if device.is_empty() { String::new() } else { format!("name={device}") };
            Target::Metric { name: format!("collectl.{kind}.{name}"), labels }
        }
    }
}

/// An interrupt on each CPU: `036       0      2   PCI-MSIX device`.
fn interrupts(line: u64, (t, dt): (Micros, Option<f64>), cpus: &[String], fields: &Fields<'_>, out: &mut Out<'_>) {
    let id = fields.get(0);
    let id = if id.bytes().all(|b| b.is_ascii_digit()) { id.trim_start_matches('0') } else { id };
    let id = if id.is_empty() { "0" } else { id };
    let name = Some(fields.rest(cpus.len() + 1)).filter(|n| !n.is_empty());
    for (i, cpu) in cpus.iter().enumerate() {
        match figure(fields.get(i + 1), false) {
            Some(value) => {
                let mut row = out.row(&irq::TABLE, t, dt);
                row.str(irq::irq, id).str(irq::cpu, cpu.as_str()).str(irq::name, name).f64(irq::intr_per_s, value);
            }
            None => out.unknown(line, fields.rest(0), "no number of interrupts for each CPU"),
        }
    }
}
