//! `collectl`: its brief and verbose text on a terminal, and the files for plotting (`-P`).
//!
//! A line of titles begins with `#`. The brief text has the groups of columns in a line above; the
//! verbose one the section's name, and with several sections the time in a `### RECORD` line.

mod plan;
mod process;

use fenxi_model::{
    Micros,
    catalog::{cpu, disk, irq, mem, net, process as process_table, sched, tcp, udp, vm},
};
use jiff::tz::{Offset, TimeZone};

use super::joins::Joins;
use crate::{Clock, Family, Format, Head, Hints, Input, Out, Relative, Splitter, Sure, Ticker, civil_time, number};
use plan::{AllCpus, Plan};

/// Importer for collectl.
pub static FORMAT: Format = Format {
    name: "collectl",
    summary: "collectl: brief and --verbose text, files of -P",
    family: Family::Linux,
    tables: &[
        &cpu::TABLE,
        &sched::TABLE,
        &mem::TABLE,
        &vm::TABLE,
        &disk::TABLE,
        &net::TABLE,
        &tcp::TABLE,
        &udp::TABLE,
        &irq::TABLE,
        &process_table::TABLE,
    ],
    example: "\
#         <--------CPU--------><----------Disks----------->
#Time     cpu sys inter  ctxsw KBRead  Reads KBWrit Writes
08:48:54  100   4   639    878   1212    131      4      1
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    let own = |line: &str| {
        let plot = ["#Date Time [", "#UTC [", "#Date,Time,[", "#Date Time PID User PR PPID"];
        plot.iter().any(|p| line.starts_with(p))
            || line.starts_with("# Collectl: ")
            || (line.starts_with("### RECORD ") && line.contains(" >>> "))
            || (line.starts_with('#') && line.contains("<--------CPU-------->"))
            || (line.starts_with("waiting for ") && line.ends_with(" second sample..."))
    };
    Sure::Certain.when(head.any(own))
}

/// The lines that belong to the titles to come.
#[derive(Default)]
struct Titles {
    /// The verbose text's name of the section.
    section: String,
    /// The line with groups of columns.
    groups: String,
    /// The last line that begins with `#`.
    names: String,
    /// A line was added since the last plan was made.
    changed: bool,
}

struct Reader {
    clock: Clock,
    ticker: Ticker,
    interval: Option<f64>,
    /// The time of the record, from a separate line.
    record: Option<(Micros, Option<f64>)>,
    relative: Option<Relative>,
    /// The sample of lines without times, and the keys that had their line in it.
    untimed: Option<(Micros, Option<f64>)>,
    keys: Vec<String>,
    titles: Titles,
    /// Counts are of the interval, not per second (`-on`).
    per_interval: bool,
    plan: Option<Plan>,
    joins: Joins,
    all_cpus: AllCpus,
    last: Option<(Micros, Option<f64>)>,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let head = input.head();
    let mut reader = Reader {
        clock: Clock::new(out.hints()),
        ticker: Ticker::new(out.hints(), &head, stamp_seconds),
        interval: out.hints().interval_s,
        record: None,
        relative: None,
        untimed: None,
        keys: Vec::new(),
        titles: Titles::default(),
        per_interval: false,
        plan: None,
        joins: Joins::default(),
        all_cpus: AllCpus::default(),
        last: None,
    };
    drop(head);
    let mut splitter = Splitter::default();
    while input.line().is_some() {
        let (number, line) = (input.number(), input.text());
        if line.trim().is_empty() {
            continue;
        }
        match line.strip_prefix('#') {
            Some(title) => reader.title(title, out),
            None if line.starts_with("waiting for ") => {
                let seconds = line.split_ascii_whitespace().nth(2).and_then(number_of);
                reader.set_interval(seconds, out);
            }
            None => reader.values(number, line, &mut splitter, out),
        }
    }
    reader.end_sample(out);
}

fn number_of(text: &str) -> Option<f64> {
    number(text).filter(|n| *n > 0.0)
}

/// The time of a line of figures, to find the usual interval.
fn stamp_seconds(line: &str) -> Option<f64> {
    if let Some(record) = line.strip_prefix("### RECORD") {
        return number(record.split(['(', ')']).nth(1)?);
    }
    if line.starts_with('#') {
        return None;
    }
    let mut words = line.split([' ', ',']);
    let time = words.next().and_then(|w| civil_time(w, None)).or_else(|| civil_time(words.next()?, None))?;
    Some(f64::from(time.hour()) * 3600.0 + f64::from(time.minute()) * 60.0 + f64::from(time.second()))
}

impl Reader {
    fn set_interval(&mut self, seconds: Option<f64>, out: &Out<'_>) {
        self.interval = out.hints().interval_s.or(seconds);
        if self.interval.is_some() {
            self.ticker = Ticker::new(&Hints { interval_s: self.interval, ..out.hints().clone() }, "", |_| None);
        }
    }

    /// A line that begins with `#`, without it.
    fn title(&mut self, title: &str, out: &mut Out<'_>) {
        if let Some(record) = title.strip_prefix("## RECORD") {
            self.begin_record(record, out);
            return;
        }
        if let Some((name, value)) = title.split_once(':').filter(|(n, _)| n.len() < 12 && !n.contains('[')) {
            self.about(name.trim(), value.trim(), out);
            return;
        }
        let bare = title.trim();
        if bare.starts_with('#') || bare.is_empty() {
            return;
        }
        let section =
            [" SUMMARY", " STATISTICS", " DETAILS"].iter().find_map(|end| bare.find(end).map(|at| &bare[..at]));
        let titles = &mut self.titles;
        titles.changed = true;
        if let Some(section) = section.filter(|s| !s.bytes().any(|b| b.is_ascii_lowercase())) {
            section.clone_into(&mut titles.section);
            self.per_interval = bare.contains("/int)");
            if bare.contains("DETAILS") {
                titles.section.push_str(" DETAILS");
            }
            titles.groups.clear();
        } else if bare.contains('<') {
            title.clone_into(&mut titles.groups);
        } else {
            title.clone_into(&mut titles.names);
        }
    }

    /// `   1 >>> vm <<< (1795250938.001) (Sat Nov 21 08:48:58 2026) ###`
    fn begin_record(&mut self, record: &str, out: &mut Out<'_>) {
        if let Some(host) = record.split([' ', '<', '>']).filter(|w| !w.is_empty()).nth(1) {
            out.set_host(host);
        }
        self.end_sample(out);
        let epoch = record.split(['(', ')']).nth(1).and_then(number_of).filter(|s| *s < 1e11);
        self.record = epoch.map(|seconds| {
            let t = Micros((seconds * 1e6) as i64);
            (t, self.ticker.tick(t))
        });
    }

    /// A line of the head of a file: `# Host:       vm  DaemonOpts: `.
    fn about(&mut self, name: &str, value: &str, out: &mut Out<'_>) {
        let word = |after: &str| {
            let at = value.find(after)?;
            value.get(at + after.len()..)?.split_ascii_whitespace().next()
        };
        match name {
            "Host" => out.set_host(value.split_ascii_whitespace().next().unwrap_or("")),
            "SubSys" => {
                self.per_interval = word("Options:").is_some_and(|o| o != "Interval:" && o.contains('n'));
                self.set_interval(word("Interval: ").and_then(|i| number_of(i.split(':').next()?)), out);
            }
            "Date" => {
                if let Some(zone) = word("TZ: ").and_then(zone) {
                    self.clock.set_zone(zone);
                }
            }
            "Collectl" | "Distro" | "Kernel" | "Cpu" => out.fact("collectl", name, value),
            _ => {}
        }
    }

    fn values(&mut self, number: u64, line: &str, splitter: &mut Splitter, out: &mut Out<'_>) {
        if self.titles.changed {
            self.titles.changed = false;
            let titles = &self.titles;
            self.plan = Plan::new(&titles.section, &titles.groups, &titles.names);
            if let Some(plan) = &mut self.plan {
                plan.per_interval = self.per_interval;
            }
        }
        let Some(plan) = self.plan.take() else {
            out.unknown(number, line, "no titles before these figures");
            return;
        };
        let fields = match plan.separator {
            b' ' => splitter.blanks(line),
            separator => splitter.at(line, separator),
        };
        let time = self.time(&plan, &fields, out);
        match time {
            Some((t, dt)) => {
                if self.last.is_some_and(|(last, _)| last != t) {
                    self.end_sample(out);
                }
                self.last = Some((t, dt));
                plan.write(
                    number,
                    (t, dt),
                    &fields.from(plan.time_columns),
                    (&mut self.joins, &mut self.all_cpus),
                    out,
                );
            }
            None => out.unknown(number, line, "no time at the beginning of the line"),
        }
        self.plan = Some(plan);
    }

    fn end_sample(&mut self, out: &mut Out<'_>) {
        self.joins.flush(out);
        self.all_cpus.end(self.last, out);
    }

    /// The time and length of the interval of a line.
    fn time(&mut self, plan: &Plan, fields: &crate::Fields<'_>, out: &mut Out<'_>) -> Option<(Micros, Option<f64>)> {
        if let Some(record) = self.record {
            return Some(record);
        }
        let t = match plan.time_columns {
            0 => return Some(self.without_time(plan.key(fields), out)),
            1 if plan.utc => Micros((number_of(fields.get(0)).filter(|s| *s < 1e11)? * 1e6) as i64),
            1 => self.clock.at(civil_time(fields.get(0), None)?, out),
            _ => {
                let time = civil_time(fields.get(1), None)?;
                match date(fields.get(0)) {
                    Some(date) => self.clock.moment(date.to_datetime(time)),
                    None => self.clock.at(time, out),
                }
            }
        };
        Some((t, self.ticker.tick(t)))
    }

    /// The sample of a line without a time: the next one, when its key had a line in this one.
    fn without_time(&mut self, key: &str, out: &mut Out<'_>) -> (Micros, Option<f64>) {
        if let Some(sample) = self.untimed
            && !self.keys.iter().any(|k| k == key)
        {
            self.keys.push(key.to_owned());
            return sample;
        }
        let interval = self.interval;
        let (t, dt) = self.relative.get_or_insert_with(|| Relative::new(out, interval)).tick();
        self.keys.clear();
        self.keys.push(key.to_owned());
        self.untimed = Some((t, Some(dt)));
        (t, Some(dt))
    }
}

/// The date in `20261121`.
fn date(text: &str) -> Option<jiff::civil::Date> {
    if text.len() != 8 || !text.bytes().all(|b| b.is_ascii_digit()) {
        return crate::civil_date(text);
    }
    let part = |range: std::ops::Range<usize>| text.get(range).and_then(|p| p.parse::<i16>().ok());
    let (year, month, day) = (part(0..4)?, part(4..6)?, part(6..8)?);
    jiff::civil::Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
}

/// A time zone as `+0100`.
fn zone(text: &str) -> Option<TimeZone> {
    let value: i32 = text.parse().ok()?;
    let seconds = (value / 100).checked_mul(3600)?.checked_add((value % 100).checked_mul(60)?)?;
    Offset::from_seconds(seconds).ok().map(TimeZone::fixed)
}
