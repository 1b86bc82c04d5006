//! `trace pin`: which interrupts hold up which threads.

use std::collections::{BTreeMap, BTreeSet};

use fenxi_model::{Unit, catalog::pin as c};

use super::{Observed, observed::table};
use crate::Frame;

/// What a line stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// A driver, whomever it held up.
    Driver,
    /// A driver and a process.
    Process,
    /// A driver, a process and a CPU, with what the process ran there.
    Cpu,
    /// A handler, and what it followed.
    Flow,
}

/// What is shown.
#[derive(Clone, Copy, Debug)]
pub struct PinOptions {
    /// What lines stand for.
    pub group: Group,
    /// Lines at most.
    pub top: usize,
}

/// Shows the table `pin`.
#[derive(Debug)]
pub struct Pin {
    options: PinOptions,
    sums: BTreeMap<Key, Sums>,
}

/// What lines of one process (or of all) have in common, and what tells them apart.
type Key = (Vec<String>, Vec<String>);

#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    /// Interrupts that held somebody up, and their time.
    pins: f64,
    pinned_s: f64,
    wait_s: f64,
    /// Interrupts of idle CPUs.
    idle: f64,
    run_s: f64,
}

impl Sums {
    fn add(&mut self, more: Sums) {
        self.pins += more.pins;
        self.pinned_s += more.pinned_s;
        self.wait_s += more.wait_s;
        self.idle += more.idle;
        self.run_s += more.run_s;
    }

    fn time(&self) -> f64 {
        self.pinned_s + self.run_s
    }
}

/// The line of what a process ran has this instead of a driver.
const RAN: &str = "(ran)";

impl Pin {
    /// Shows as `options` say.
    pub fn new(options: PinOptions) -> Pin {
        Pin { options, sums: BTreeMap::new() }
    }
}

fn figures(sums: &Sums, elapsed_s: f64) -> [String; 5] {
    let average = if sums.pins > 0.0 { seconds(sums.pinned_s / sums.pins) } else { "-".to_owned() };
    let share = if elapsed_s > 0.0 { format!("{:.2}", 100.0 * sums.pinned_s / elapsed_s) } else { "-".to_owned() };
    [number(sums.pins), seconds(sums.pinned_s), average, share, seconds(sums.wait_s)]
}

fn number(n: f64) -> String {
    if n > 0.0 { format!("{n:.0}") } else { "-".to_owned() }
}

fn seconds(value: f64) -> String {
    if value > 0.0 { Unit::Seconds.human(value).to_string() } else { "-".to_owned() }
}

impl Observed for Pin {
    fn take(&mut self, frame: &Frame<'_>) {
        let Some(rows) = frame.rows.of(&c::TABLE) else { return };
        for row in 0..rows.n_rows() {
            let text = |place| rows.str(row, place).unwrap_or("").to_owned();
            let value = |place| rows.f64(row, place).unwrap_or(0.0);
            let pid = rows.i64(row, c::pid);
            let (ran, idle) = (rows.str(row, c::driver).is_none(), pid == Some(0));
            let group = self.options.group;
            // Only lines of processes on CPUs say what ran, and only lines of drivers what nobody was held up by.
            if ran && group != Group::Cpu || idle && matches!(group, Group::Process | Group::Cpu) {
                continue;
            }
            let pid = pid.map_or_else(|| "-".to_owned(), |pid| pid.to_string());
            let driver = if ran { RAN.to_owned() } else { text(c::driver) };
            let key = match group {
                Group::Driver => (vec![], vec![driver, text(c::class)]),
                Group::Process => (vec![pid, text(c::comm)], vec![driver, text(c::class)]),
                Group::Cpu => (vec![pid, text(c::comm), text(c::cpu)], vec![driver, text(c::class)]),
                Group::Flow => (vec![], vec![text(c::after), driver, text(c::class), text(c::handler)]),
            };
            let (events, pinned_s) = (value(c::events), value(c::pinned_s));
            self.sums.entry(key).or_default().add(Sums {
                pins: if idle { 0.0 } else { events },
                pinned_s: if idle { 0.0 } else { pinned_s },
                wait_s: value(c::run_queue_wait_s),
                idle: if idle { events } else { 0.0 },
                run_s: value(c::run_s),
            });
        }
    }

    fn show(&mut self, elapsed_s: f64, out: &mut String) {
        let sums = std::mem::take(&mut self.sums);
        let mut groups: BTreeMap<&[String], f64> = BTreeMap::new();
        sums.iter().for_each(|((group, _), sums)| *groups.entry(group).or_default() += sums.time());
        let mut lines: Vec<_> = sums.iter().collect();
        // Processes by what they ran and lost; a process's lines by time, what it ran first.
        lines.sort_by(|((a_group, a), x), ((b_group, b), y)| {
            let by_group = || groups[&b_group[..]].total_cmp(&groups[&a_group[..]]);
            let by_time = || y.run_s.total_cmp(&x.run_s).then(y.time().total_cmp(&x.time()));
            let grouped = self.options.group == Group::Cpu;
            if grouped { by_group().then_with(|| a_group.cmp(b_group)) } else { std::cmp::Ordering::Equal }
                .then_with(by_time)
                .then_with(|| (a_group, a).cmp(&(b_group, b)))
        });
        let names: &[&str] = match self.options.group {
            Group::Driver => &["DRIVER", "CLASS"],
            Group::Process => &["PID", "COMMAND", "DRIVER", "CLASS"],
            Group::Cpu => &["PID", "COMMAND", "CPU", "DRIVER", "CLASS"],
            Group::Flow => &["AFTER", "DRIVER", "CLASS", "HANDLER"],
        };
        let last = if self.options.group == Group::Cpu { "RAN" } else { "IDLE" };
        let with_last = self.options.group != Group::Process;
        let mut header = [names, &["PINS", "TIME", "AVG", "%CPU", "WAITED"]].concat();
        header.extend(with_last.then_some(last));
        let cells = |((group, key), sums): &(&Key, &Sums)| {
            let mut cells = [group.as_slice(), key].concat();
            cells.extend(figures(sums, elapsed_s));
            cells.extend(with_last.then(|| match last {
                "RAN" => seconds(sums.run_s),
                _ => number(sums.idle),
            }));
            cells
        };
        if lines.is_empty() {
            out.push_str("no interrupts\n");
            return;
        }
        let right: BTreeSet<usize> = (names.len()..header.len()).collect();
        let right: Vec<usize> = right.into_iter().chain((names[0] == "PID").then_some(0)).collect();
        table(&header, &right, lines.iter().map(cells), (self.options.top, " with less time"), out);
    }
}

#[cfg(test)]
mod tests {
    use fenxi_model::{Micros, Rows, catalog::pin as c};

    use super::*;
    use crate::{
        View,
        trace::{Summed, When},
    };

    fn show(group: Group) -> String {
        let mut rows = Rows::new("h");
        for (pid, comm, driver, class, events, pinned, wait, ran) in [
            (7, "hog", Some("eth0"), "hard", 100.0, 0.001, 0.5, None),
            (7, "hog", Some("NET_RX"), "soft", 100.0, 0.02, 0.0, None),
            (8, "ping", Some("eth0"), "hard", 50.0, 0.0005, 0.0, None),
            (0, "", Some("eth0"), "hard", 10.0, 0.1, 0.0, None),
            (7, "hog", None, "", 0.0, 0.0, 0.25, Some(1.5)),
        ] {
            rows.row(&c::TABLE, Micros(0), 2.0)
                .str(c::cpu, "1")
                .str(c::driver, driver)
                .str(c::class, driver.map(|_| class))
                .str(c::comm, Some(comm).filter(|comm| !comm.is_empty()))
                .i64(c::pid, pid)
                .f64(c::events, driver.map(|_| events))
                .f64(c::pinned_s, driver.map(|_| pinned))
                .f64(c::run_queue_wait_s, wait)
                .f64(c::run_s, ran);
        }
        let mut view = Summed::new(Pin::new(PinOptions { group, top: 40 }), When::AtTheEnd);
        let mut out = String::new();
        view.frame(&Frame { t: Micros(0), dt: 2.0, since_boot: false, rows: &rows }, &mut out);
        view.end(&mut out);
        out
    }

    #[test]
    fn a_driver_s_time_is_what_it_took_from_somebody() {
        let text = show(Group::Driver);
        let words = |n: usize| text.lines().nth(n).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words(0), "DRIVER CLASS PINS TIME AVG %CPU WAITED IDLE", "{text}");
        assert_eq!(words(1), "NET_RX soft 100 20.0 ms 200 us 1.00 - -", "{text}");
        assert!(words(2).starts_with("eth0 hard 150 1.50 ms 10.0 us"), "{text}");
        assert!(words(2).ends_with(" 10"), "{text}");
    }

    #[test]
    fn what_a_process_ran_stands_before_what_held_it_up() {
        let text = show(Group::Cpu);
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert!(lines[0].contains("(ran)") && lines[1].contains("NET_RX") && lines[2].contains("eth0"), "{text}");
        assert!(lines[3].contains("ping") && lines.len() == 4, "{text}");
    }

    #[test]
    fn who_is_held_up_is_told_apart_from_nobody() {
        let text = show(Group::Process);
        assert!(!text.contains(" 0  ") && text.lines().count() == 4, "{text}");
    }
}
