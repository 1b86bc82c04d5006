//! `atop -P`: a line a thing with a label, host and time in front, counts of the interval behind.
//!
//! `SEP` ends a sample; `RESET` precedes a sample that counts since boot. Versions only add
//! fields at the ends of lines. Shares of the CPUs are of all ticks that were counted, as the
//! interval is in whole seconds.

mod process;
mod system;

use fenxi_model::{
    Micros,
    catalog::{cpu, disk, mem, net, pressure, process as process_table, sched, tcp, thread, udp, vm},
};

use super::joins::Joins;
use crate::{Family, Format, Head, Input, Out, Splitter, Sure};
use process::Processes;

/// Importer for atop -P.
pub static FORMAT: Format = Format {
    name: "atop",
    summary: "atop -P: parseable output, any labels",
    family: Family::Linux,
    tables: &[
        &cpu::TABLE,
        &sched::TABLE,
        &mem::TABLE,
        &vm::TABLE,
        &pressure::TABLE,
        &disk::TABLE,
        &net::TABLE,
        &tcp::TABLE,
        &udp::TABLE,
        &process_table::TABLE,
        &thread::TABLE,
    ],
    example: "\
CPL db1 1795252417 2026/11/21 09:13:37 2 2 4.14 4.37 4.89 4264 2275
SEP
",
    sniff,
    read,
};

/// The prefix of every line, and what is behind it.
struct Line<'a> {
    label: &'a str,
    host: &'a str,
    t: Micros,
    /// Seconds of the interval; since boot in a sample that counts since then.
    seconds: f64,
    rest: &'a str,
}

/// Cuts `CPL db1 1795252417 2026/11/21 09:13:37 2 ...`.
fn cut(line: &str) -> Option<Line<'_>> {
    let mut parts = line.splitn(7, ' ');
    let (label, host) = (parts.next()?, parts.next()?);
    let epoch: i64 = parts.next()?.parse().ok()?;
    let (date, time) = (parts.next()?, parts.next()?);
    let seconds: f64 = parts.next()?.parse::<u32>().ok()?.into();
    let shape = label.len() == 3 && date.len() == 10 && date.as_bytes().get(4) == Some(&b'/') && time.len() == 8;
    let t = Micros(epoch.checked_mul(1_000_000)?);
    shape.then_some(Line { label, host, t, seconds, rest: parts.next().unwrap_or("") })
}

fn sniff(head: &Head<'_>) -> Sure {
    Sure::Certain.when(head.lines().take(20).any(|line| cut(line).is_some()))
}

/// One line's time and the seconds by which its counts are divided.
#[derive(Clone, Copy)]
struct When {
    t: Micros,
    /// None in a sample since boot.
    dt: Option<f64>,
    seconds: f64,
}

impl When {
    /// A count of the interval per second.
    fn rate(self, count: Option<f64>) -> Option<f64> {
        count.filter(|c| *c >= 0.0 && self.seconds > 0.0).map(|c| c / self.seconds)
    }
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut splitter = Splitter::default();
    let mut joins = Joins::default();
    let mut processes = Processes::default();
    let mut host = String::new();
    let mut boot = false;
    while input.line().is_some() {
        let (number, text) = (input.number(), input.text());
        let text = text.trim();
        match text {
            "" => continue,
            "SEP" | "RESET" => {
                out.since_boot(boot);
                joins.flush(out);
                processes.flush(out);
                boot = text == "RESET";
                out.since_boot(boot);
                continue;
            }
            _ => {}
        }
        let Some(line) = cut(text) else {
            out.unknown(number, text, "no label, host and time of atop");
            continue;
        };
        if line.host != host {
            line.host.clone_into(&mut host);
            out.set_host(&host);
        }
        let dt = Some(line.seconds).filter(|s| !boot && *s > 0.0);
        let when = When { t: line.t, dt, seconds: line.seconds };
        let fields = splitter.blanks(line.rest);
        let known = match line.label {
            "PRG" | "PRC" | "PRM" | "PRD" | "PRN" | "PRE" => processes.line(line.label, when, line.rest, out),
            label => system::line(label, when, &fields, &mut joins, out),
        };
        if !known {
            out.unknown(number, text, "a label or fields that are not known");
        }
    }
    out.since_boot(boot);
    joins.flush(out);
    processes.flush(out);
    out.since_boot(false);
}
