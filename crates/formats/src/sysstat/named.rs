//! Reports of sysstat that are one table of devices each: `cifsiostat` and `tapestat`.
//!
//! The first report is the average since boot; with `-y` of tapestat it is not there, which nothing shows.
//!
//! The fixtures are outputs of sysstat 12.6.1 over counters that a script wrote in the kernel's place: what they grew by is known.

use fenxi_model::catalog::disk;
use serde_json::Value;

use super::{
    headers::Headers,
    json::{Columns, Part, each, host, label, objects, omits_first, stamp_in},
    times::{Times, moment},
};
use crate::{Field, Fields, Input, Layout, Out, Splitter, Ticker, banner};

/// What one of the tools prints.
pub(super) struct Tool {
    pub(super) name: &'static str,
    /// What stands above the devices' names.
    pub(super) titles: &'static [&'static str],
    pub(super) columns: &'static [Field],
    /// The label of a metric that says the device.
    pub(super) label: &'static str,
    /// The array of devices in JSON, and what each is called there.
    pub(super) json: (&'static str, &'static str),
}

impl Tool {
    /// Whether `line` is a header: the title of the names in front or behind, and all of `wanted`.
    pub(super) fn is_header(&self, line: &str, wanted: &[&str]) -> bool {
        let mut words = line.split_ascii_whitespace();
        let (first, last) = (words.next().unwrap_or(""), words.next_back().unwrap_or(""));
        let titled = self.titles.iter().any(|title| *title == first || *title == last);
        titled && wanted.iter().all(|name| line.split_ascii_whitespace().any(|word| word == *name))
    }
}

/// What stands under a header line.
struct Section {
    layout: Layout,
    /// The names stand behind the values (`--pretty`, `-h`).
    behind: bool,
}

struct Reader {
    tool: &'static Tool,
    times: Times,
    headers: Headers<Section>,
    /// Whether the report since boot is still to come.
    boot: bool,
}

pub(super) fn read(tool: &'static Tool, input: &mut Input<'_>, out: &mut Out<'_>) {
    let head = input.head();
    let ticker = Ticker::new(out.hints(), &head, |line| moment(line).map(|stamp| stamp.seconds()));
    drop(head);
    let mut reader = Reader { tool, times: Times::new(out, ticker, None), headers: Headers::new(), boot: false };
    let mut splitter = Splitter::default();
    input.each_line(|number, line| {
        let fields = splitter.blanks(line);
        if !fields.is_empty() && !reader.line(number, line, &fields, out) {
            out.unknown(number, line, "neither a header line nor its values");
        }
    });
    out.since_boot(false);
}

/// Reads the same reports as JSON (`-o JSON`).
pub(super) fn read_json(tool: &'static Tool, input: &mut Input<'_>, out: &mut Out<'_>) {
    let head = input.head();
    let ticker = Ticker::new(out.hints(), &head, |line| stamp_in(line).and_then(moment).map(|stamp| stamp.seconds()));
    let mut times = Times::new(out, ticker, None);
    let omitted = omits_first(&head);
    drop(head);
    let columns = Columns { format: tool.name, table: &disk::TABLE, known: tool.columns };
    let (devices, name) = tool.json;
    let mut boot = false;
    each(input, out, |part, out| match part {
        Part::Host(key, value) => {
            boot |= key == "nodename" && !omitted;
            host(key, value, &mut times, out);
        }
        Part::Report(report) => {
            if let Some(stamp) = report.get("timestamp").and_then(Value::as_str).and_then(moment) {
                times.stamp(stamp, out);
            }
            let boot = std::mem::replace(&mut boot, false);
            times.report(boot, out);
            out.since_boot(boot);
            for device in objects(report, devices) {
                let name = label(device, name);
                let keys = |row: &mut fenxi_model::Row<'_>| {
                    if let Some(mut row) = row.typed(&disk::TABLE) {
                        row.str(disk::device, name.as_str());
                    }
                };
                columns.write(out, times.at(), device, keys, &format!("{}={name}", tool.label));
            }
            out.since_boot(false);
        }
    });
}

impl Reader {
    fn line(&mut self, number: u64, line: &str, fields: &Fields<'_>, out: &mut Out<'_>) -> bool {
        if self.tool.is_header(line, &[]) {
            self.header(line, fields, out);
            return true;
        }
        if self.values(number, fields, out) {
            return true;
        }
        if let Some(banner) = banner(line) {
            out.set_host(banner.host);
            self.times.begin(banner.date);
            self.headers.leave();
            self.boot = true;
            return true;
        }
        let Some(stamp) = moment(line) else { return false };
        self.times.stamp(stamp, out);
        self.headers.leave();
        true
    }

    /// A report begins.
    fn header(&mut self, line: &str, fields: &Fields<'_>, out: &mut Out<'_>) {
        let boot = std::mem::replace(&mut self.boot, false);
        self.times.report(boot, out);
        out.since_boot(boot);
        let behind = !self.tool.titles.contains(&fields.get(0));
        let tool = self.tool;
        self.headers.enter(line, || {
            let names = fields.iter().skip(usize::from(!behind)).take(fields.len().saturating_sub(1));
            Section { layout: Layout::new(tool.name, names, tool.columns), behind }
        });
    }

    fn values(&self, number: u64, fields: &Fields<'_>, out: &mut Out<'_>) -> bool {
        let Some(Section { layout, behind }) = self.headers.current() else { return false };
        let columns = layout.len();
        if fields.len() != columns + 1 {
            return false;
        }
        let (name, values) =
            if *behind { (fields.get(columns), fields.to(columns)) } else { (fields.get(0), fields.from(1)) };
        let keys = |_: &_, row: &mut fenxi_model::Row<'_>| {
            if let Some(mut row) = row.typed(&disk::TABLE) {
                row.str(disk::device, name);
            }
        };
        layout.write(out, number, self.times.at(), &values, keys, || format!("{}={name}", self.tool.label));
        true
    }
}
