//! `sadf -p`: one figure a line, for awk: host, interval, time, device, column and value.
//!
//! The lines of one device and section become one row again.

use std::borrow::Cow;

use fenxi_model::Micros;
use rustc_hash::FxHashMap;

use super::{
    moment::{Events, Moments, interval},
    plan::Plan,
    sar,
    section::{OTHER, SYSSTAT, Section},
    write::{Cells, Value, When, Writer},
};
use crate::{Family, Fields, Format, Head, Input, Out, Splitter, Sure};

/// Importer for sadf -p of sysstat.
pub static FORMAT: Format = Format {
    name: "sadf-p",
    summary: "sadf -p of sysstat: one value per line",
    family: Family::Linux,
    tables: sar::FORMAT.tables,
    example: "\
db1\t600\t2026-11-21 08:10:01 UTC\tall\t%user\t12.03
db1\t600\t2026-11-21 08:10:01 UTC\tall\t%nice\t0.00
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    // The head's last line may be cut.
    let fits = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let lead = fields.len() >= 5 && fields[1].parse::<i64>().is_ok();
        let figure = fields.len() == 6 && (section(fields[3], fields[4]).is_some() || is_cpu(fields[4]));
        lead && fields[2].len() >= 10 && (figure || fields[3].starts_with("LINUX-RESTART"))
    };
    Sure::Certain.when(head.lines().next().is_some_and(fits))
}

/// The section that has a column headed `field`, for a device or for none.
fn section(device: &str, field: &str) -> Option<&'static Section> {
    let keyed = device != "-";
    // Sensors begin with the name of a chip: their kind follows from names like `fan1`.
    let kind = device.trim_end_matches(|c: char| c.is_ascii_digit());
    let named = |s: &Section| s.key_index(field).is_some() && s.keys.first().is_some_and(|k| k.label == kind);
    SYSSTAT.iter().find(|s| s.keys.is_empty() != keyed && (s.column(field).is_some() || named(s)))
}

/// Whether the column is of interrupts: `all`, `cpu3` or `intr/s`.
fn is_cpu(field: &str) -> bool {
    let number = field.strip_prefix("cpu");
    matches!(field, "all" | "intr/s") || number.is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()))
}

struct Reader {
    moments: Moments,
    events: Events,
    /// Plans by section and columns.
    plans: FxHashMap<(*const Section, String), Plan>,
    group: Group,
    writer: Writer,
}

/// Lines of one device, time and section.
#[derive(Default)]
struct Group {
    line: u64,
    t: Option<Micros>,
    dt: Option<f64>,
    section: Option<&'static Section>,
    device: String,
    /// Columns, each with a tab behind.
    names: String,
    values: Vec<String>,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader {
        moments: Moments::new(out),
        events: Events::default(),
        plans: FxHashMap::default(),
        group: Group::default(),
        writer: Writer::new(),
    };
    let mut splitter = Splitter::default();
    while input.line().is_some() {
        let (number, line) = (input.number(), input.text());
        if !line.trim().is_empty() {
            let fields = splitter.at(line, b'\t');
            reader.line(number, line, &fields, out);
        }
    }
    reader.flush(out);
    reader.writer.flush(out);
}

impl Reader {
    fn line(&mut self, number: u64, line: &str, fields: &Fields<'_>, out: &mut Out<'_>) {
        let Some(t) = self.moments.read(fields.get(2)) else {
            out.unknown(number, line, "not host, interval and time between tabs");
            return;
        };
        out.set_host(fields.get(0));
        let first = fields.get(3);
        if first == "LINUX-RESTART" || first.starts_with("COM ") {
            self.flush(out);
            let text = format!("LINUX RESTART {}", fields.get(4));
            let comment = first.strip_prefix("COM ");
            self.events.add(t, if comment.is_some() { "comment" } else { "restart" }, comment.unwrap_or(&text), out);
            return;
        }
        let (name, value) = (fields.get(4), fields.get(5));
        if fields.len() != 6 || name.is_empty() {
            out.unknown(number, line, "not host, interval, time, device, column and value between tabs");
            return;
        }
        let stays = self.group.section.is_some_and(|s| s.column(name).is_some());
        let section = if stays { self.group.section } else { section(first, name).or(self.group.section) };
        let same = |a: Option<&Section>, b: Option<&Section>| match (a, b) {
            (Some(a), Some(b)) => std::ptr::eq(a, b),
            (a, b) => a.is_none() && b.is_none(),
        };
        let group = &self.group;
        let again = group.names.split('\t').any(|n| n == name);
        if group.t != Some(t) || group.device != first || again || !same(group.section, section) {
            let starts_anew = group.t != Some(t) || group.device != first;
            let section = if starts_anew && !stays { self::section(first, name) } else { section };
            self.flush(out);
            self.group.section = section;
            self.group.device.push_str(first);
            self.group.line = number;
            (self.group.t, self.group.dt) = (Some(t), interval(fields.get(1)));
        }
        self.group.names.push_str(name);
        self.group.names.push('\t');
        self.group.values.push(value.to_owned());
    }

    fn flush(&mut self, out: &mut Out<'_>) {
        let group = std::mem::take(&mut self.group);
        let Some(t) = group.t else { return };
        let section = group.section.unwrap_or(&OTHER);
        let plan = self.plans.entry((std::ptr::from_ref(section), group.names.clone())).or_insert_with(|| {
            let key = section.keys.first().and_then(|k| k.headers.first()).map_or("INTR", String::as_str);
            let mut headers = vec![key];
            headers.extend(group.names.split('\t').filter(|n| !n.is_empty()));
            // The place of the device is kept also where there is none.
            let plain = section.keys.is_empty() && !headers.iter().skip(1).all(|n| is_cpu(n));
            if plain {
                Plan::new(section, &[&["-"], &headers[1..]].concat()).without_first()
            } else {
                Plan::new(section, &headers)
            }
        });
        let when = When { t, dt: group.dt, boot: false };
        self.writer.row(out, group.line, when, plan, &group);
    }
}

impl Cells for Group {
    fn text(&self, column: usize) -> Cow<'_, str> {
        match column.checked_sub(1) {
            // The maker and the product are one name.
            Some(column) if column + 2 == self.values.len() && self.names.ends_with("\tmanufact\tproduct\t") => {
                Cow::Owned(self.values[column..].join(" ").trim().to_owned())
            }
            Some(column) => Cow::Borrowed(self.values.get(column).map_or("", String::as_str)),
            None => Cow::Borrowed(&self.device),
        }
    }

    fn value(&self, column: usize) -> Value {
        Value::read(&self.text(column))
    }
}
