//! `iostat` of sysstat, as text: the CPUs together, and each device.
//!
//! Traps: the first report is the average since boot, unless `-y` was given. Only versions 12.1 to
//! 12.7.8 show that, by a second blank line under the banner; else it shows only where the basic
//! columns show how long a report is. Without `-t` there are no times at all.

pub(super) mod columns;
mod length;
#[cfg(test)]
mod tests;

use fenxi_model::catalog::{cpu, disk};

use self::length::lengths;
use super::{
    headers::Headers,
    times::{Stamp, Times, moment},
};
use crate::{
    Family, Fields, Format, Head, Input, Join, Layout, Out, Splitter, Sure, Ticker, banner, civil_time, number,
    procps::moments::is_prompt, unix::times::interval_of,
};

/// Importer for iostat of sysstat, as text.
pub static FORMAT: Format = Format {
    name: "iostat",
    summary: "iostat of sysstat, as text: -c, -d, -x, -h and the others",
    family: Family::Linux,
    tables: &[&cpu::TABLE, &disk::TABLE],
    example: "\
Linux 6.1.0 (db1) \t11/21/26 \t_x86_64_\t(8 CPU)

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
          12.03    0.00    3.10    0.25    0.00   84.62

Device             tps    kB_read/s    kB_wrtn/s    kB_dscd/s    kB_read    kB_wrtn    kB_dscd
sda               5.00        40.00      3624.00         0.00         40       3624          0
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    let cpu = |line: &str| line.starts_with("avg-cpu:") && line.contains("%user") && line.contains("%idle");
    let device = |line: &str| {
        let ours = ["kB_read/s", "MB_read/s", "Blk_read/s", "rsec/s", "rkB/s", "rMB/s", "aqu-sz"];
        is_device_header(line) && line.split_ascii_whitespace().any(|name| ours.contains(&name))
    };
    Sure::Certain.when(head.any(|line| cpu(line) || device(line)))
}

fn is_device_header(line: &str) -> bool {
    line.starts_with("Device") || line.ends_with(" Device")
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let head = input.head();
    let seconds = |line: &str| {
        let first = line.trim_start().as_bytes().first()?;
        let perhaps = first.is_ascii_digit() || first.is_ascii_uppercase() || *first == b'z';
        perhaps.then(|| stamp(line)).flatten().map(|stamp| stamp.seconds())
    };
    let ticker = Ticker::new(out.hints(), &head, seconds);
    let lengths = lengths(&head);
    let mut reader = Reader {
        times: Times::new(out, ticker, lengths.usual),
        first_is_sample: lengths.first_is_sample,
        headers: Headers::new(),
        report: 0,
        open: false,
        run: Run::Unknown,
        blank_lines: 0,
        apart: false,
        device: String::new(),
        join: Join::new(&disk::TABLE, Some(disk::device), columns::JOINED),
    };
    drop(head);
    let mut splitter = Splitter::default();
    input.each_line(|number, line| reader.line(number, line, &mut splitter, out));
    reader.join.flush(out);
}

/// Reads a line of `-t`, which up to version 8 is `Time: 14:35:52`, and the line that OSWatcher puts
/// before each report.
fn stamp(line: &str) -> Option<Stamp> {
    if let Some(time) = line.strip_prefix("Time: ") {
        let mut words = time.split_ascii_whitespace();
        return civil_time(words.next()?, words.next()).map(Stamp::Time);
    }
    let text = line.strip_prefix("zzz ***").unwrap_or(line);
    moment(text)
}

/// Where in a run of iostat the text is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Run {
    /// The run's begin is not in the input: what comes are samples.
    Unknown,
    /// Under the banner: the first report comes.
    First,
    /// The first report is there.
    Later,
}

/// Kind of rows below a header line.
struct Section {
    kind: Kind,
    layout: Layout,
    /// The last report that had it.
    report: u64,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// All CPUs together.
    Cpu,
    /// Devices, with their names in front.
    Device,
    /// Devices, with their names behind (`--pretty`, `-h`).
    Pretty,
    /// Some columns of devices, with their names behind.
    Part,
    /// Network file systems (versions 7 to 9, `-n`).
    Filesystem,
}

struct Reader {
    times: Times,
    /// Whether the first report is a sample as the others are, if its length shows it.
    first_is_sample: Option<bool>,
    headers: Headers<Section>,
    report: u64,
    /// Whether the report of the last time has begun.
    open: bool,
    run: Run,
    /// Blank lines since the banner.
    blank_lines: u32,
    /// Whether a blank line separates the last table from what comes.
    apart: bool,
    /// Name on a separate line, as it is too long for its column, or by `-h`.
    device: String,
    join: Join<disk::Schema>,
}

impl Reader {
    fn line(&mut self, number: u64, line: &str, splitter: &mut Splitter, out: &mut Out<'_>) {
        let fields = splitter.blanks(line);
        let first = fields.get(0);
        if fields.is_empty() {
            self.blank_lines = self.blank_lines.saturating_add(1);
            self.apart = true;
        } else if first == "avg-cpu:" {
            let make = || section(Kind::Cpu, Layout::new(FORMAT.name, fields.from(1).iter(), columns::CPU));
            self.header(line, make, out);
        } else if matches!(first, "Device" | "Device:" | "Filesystem:" | "Filesystem") {
            let kind = if first.starts_with('D') { Kind::Device } else { Kind::Filesystem };
            let make = || section(kind, Layout::new(FORMAT.name, fields.from(1).iter(), columns::DEVICE));
            self.header(line, make, out);
        } else if is_device_header(line) {
            self.header(line, || pretty(&fields), out);
        } else if let Some(banner) = line.starts_with(char::is_uppercase).then(|| banner(line)).flatten() {
            out.set_host(banner.host);
            self.times.begin(banner.date);
            self.headers.leave();
            (self.run, self.blank_lines, self.open) = (Run::First, 0, false);
        } else if !self.values(number, &fields, out) {
            self.other(number, line, out);
        }
    }

    /// A line that is neither a header nor has as many values as the header has columns.
    fn other(&mut self, number: u64, line: &str, out: &mut Out<'_>) {
        let Some(stamp) = stamp(line) else {
            if is_prompt(line.trim(), "iostat") {
                if let Some(seconds) = interval_of(line, "iostat", "jofgp") {
                    self.times.usual_is(seconds);
                }
                return;
            }
            let why = match self.headers.current() {
                None => "no values without a header line",
                Some(_) => "other than the columns of the header line",
            };
            out.unknown(number, line, why);
            // Other text below a table ends it: figures in it are none of devices.
            if self.apart {
                self.headers.leave();
            }
            return;
        };
        self.times.stamp(stamp, out);
        self.open = false;
        self.headers.leave();
    }

    /// A header line. One that the report has had begins the next report.
    fn header(&mut self, line: &str, make: impl FnOnce() -> Section, out: &mut Out<'_>) {
        let section = self.headers.enter(line, make);
        let begins = !self.open || section.report == self.report;
        section.report = self.report + u64::from(begins);
        self.apart = false;
        if begins {
            self.begin(out);
        }
        self.device.clear();
    }

    fn begin(&mut self, out: &mut Out<'_>) {
        self.join.flush(out);
        self.report += 1;
        self.open = true;
        // With `-y` there are two blank lines above the first report; one of them may be somebody else's.
        let sample = self.first_is_sample.unwrap_or(self.blank_lines >= 2);
        let boot = self.run == Run::First && !sample;
        self.run = if self.run == Run::First { Run::Later } else { self.run };
        self.times.report(boot, out);
        out.since_boot(boot);
    }

    /// Reads the values of a line, if it has as many as the header has columns.
    fn values(&mut self, number: u64, fields: &Fields<'_>, out: &mut Out<'_>) -> bool {
        let Some(Section { kind, layout, .. }) = self.headers.current() else { return false };
        let (columns, at) = (layout.len(), self.times.at());
        let named = fields.len() == columns + 1;
        let (name, values) = match kind {
            Kind::Cpu if fields.len() == columns => {
                layout.write(out, number, at, fields, |_, _| {}, String::new);
                return true;
            }
            Kind::Cpu => return false,
            Kind::Pretty | Kind::Part if named => (fields.get(columns), fields.to(columns)),
            Kind::Pretty | Kind::Part => return false,
            Kind::Device | Kind::Filesystem if named => (fields.get(0), fields.from(1)),
            Kind::Device | Kind::Filesystem if fields.len() == 1 => {
                fields.get(0).clone_into(&mut self.device);
                return true;
            }
            Kind::Device | Kind::Filesystem if fields.len() == columns && !self.device.is_empty() => {
                (self.device.as_str(), *fields)
            }
            Kind::Device | Kind::Filesystem => return false,
        };
        if !values.iter().all(is_value) {
            return false;
        }
        let name = name.strip_prefix("/dev/").unwrap_or(name);
        if *kind == Kind::Part {
            layout.join(out, number, at, &values, name, &mut self.join);
        } else {
            let what = if *kind == Kind::Filesystem { "filesystem" } else { "device" };
            let keys = |_: &_, row: &mut fenxi_model::Row<'_>| {
                if let Some(mut row) = row.typed(&disk::TABLE) {
                    row.str(disk::device, name);
                }
            };
            layout.write(out, number, at, &values, keys, || format!("{what}={name}"));
        }
        true
    }
}

/// Whether a cell can stand in a column of numbers: one, with the suffix of `-h` or a percent sign, or a mark that there is none.
fn is_value(cell: &str) -> bool {
    let bytes = cell.as_bytes();
    let begins = matches!(bytes.first(), Some(b'0'..=b'9' | b'.' | b'-' | b'n'));
    begins && (number(cell).is_some() || matches!(cell, "-" | "nan" | "-nan") || suffixed(cell).is_some())
}

fn suffixed(cell: &str) -> Option<f64> {
    number(cell.trim_end_matches('\0').trim_end_matches(['%', 'k', 'K', 'M', 'G', 'T', 'P']))
}

fn section(kind: Kind, layout: Layout) -> Section {
    Section { kind, layout, report: 0 }
}

/// A header line with the devices' names behind.
fn pretty(fields: &Fields<'_>) -> Section {
    let names = || fields.iter().take(fields.len().saturating_sub(1));
    let has = |name: &str| names().any(|n| n == name);
    // One of the four parts of the extended report.
    let part = !has("tps") && (!has("r/s") || !has("w/s"));
    let layout = Layout::new(FORMAT.name, names(), columns::DEVICE);
    section(if part { Kind::Part } else { Kind::Pretty }, layout)
}
