//! `trace irqsteal`: which interrupts hold up which threads.

use fenxi_live::{
    Frame, View,
    trace::{Column, Grouping, Groups, Observed, Row, Sum, Summed, Total, in_unit},
};
use fenxi_model::{Unit, catalog::pin as c};
use fenxi_source::Options;

use crate::Setting;

/// A line for each driver, and process, and CPU; or for each handler.
pub(super) fn new(options: &Options, setting: &Setting) -> Box<dyn View> {
    Box::new(Summed::new(Irqsteal::new(options), setting.when))
}

/// Interrupts that held somebody up, and their time.
const PINS: usize = 0;
const PINNED_S: usize = 1;
const WAIT_S: usize = 2;
/// Interrupts of idle CPUs.
const IDLE: usize = 3;
const RUN_S: usize = 4;

static GROUPING: Grouping<c::Schema> = Grouping {
    table: &c::TABLE,
    sums: &[
        Sum::Added(|row| if is_idle(row) { 0.0 } else { row.value(c::events) }),
        Sum::Added(|row| if is_idle(row) { 0.0 } else { row.value(c::pinned_s) }),
        Sum::Added(|row| row.value(c::run_queue_wait_s)),
        Sum::Added(|row| if is_idle(row) { row.value(c::events) } else { 0.0 }),
        Sum::Added(|row| row.value(c::run_s)),
    ],
    columns: &[
        Column::Number("PID", |row| row.id_or(c::pid, "-")),
        Column::Key("COMMAND", |row| row.text(c::comm).to_owned()),
        Column::Key("CPU", |row| row.text(c::cpu).to_owned()),
        Column::Key("AFTER", |row| row.text(c::after).to_owned()),
        Column::Key("DRIVER", |row| if has_run(row) { RAN.to_owned() } else { row.text(c::driver).to_owned() }),
        Column::Key("CLASS", |row| row.text(c::class).to_owned()),
        Column::Key("HANDLER", |row| row.text(c::handler).to_owned()),
        Column::Figure("PINS", |sums| number(sums.of(PINS))),
        Column::Figure("TIME", |sums| seconds(sums.of(PINNED_S))),
        Column::Figure("AVG", |sums| sums.mean_in(Unit::Seconds, PINNED_S, PINS)),
        Column::Figure("%CPU", |sums| match sums.elapsed_s {
            elapsed if elapsed > 0.0 => format!("{:.2}", 100.0 * sums.of(PINNED_S) / elapsed),
            _ => "-".to_owned(),
        }),
        Column::Figure("WAITED", |sums| seconds(sums.of(WAIT_S))),
        Column::Figure("IDLE", |sums| number(sums.of(IDLE))),
        Column::Figure("RAN", |sums| seconds(sums.of(RUN_S))),
    ],
    // A process's run time comes first; blocks of processes are ordered by their run time and lost time.
    order: |sums| [sums.of(RUN_S), sums.of(PINNED_S)],
    total: Total::None,
    less: " with less time",
};

/// The line of what a process ran has this instead of a driver.
const RAN: &str = "(ran)";

fn has_run(row: Row<'_, c::Schema>) -> bool {
    !row.has(c::driver)
}

fn is_idle(row: Row<'_, c::Schema>) -> bool {
    row.id(c::pid) == Some(0)
}

fn number(n: f64) -> String {
    if n > 0.0 { format!("{n:.0}") } else { "-".to_owned() }
}

fn seconds(value: f64) -> String {
    in_unit(Unit::Seconds, (value > 0.0).then_some(value))
}

/// Shows the table `pin`.
#[derive(Debug)]
struct Irqsteal {
    groups: Groups<c::Schema>,
    /// Whether lines of processes on CPUs say what ran.
    with_runs: bool,
    /// Whether to print interrupts that held up no thread.
    with_idle: bool,
    top: usize,
}

impl Irqsteal {
    fn new(options: &Options) -> Irqsteal {
        let flow = options.is_given("flow");
        let by = if flow { "flow" } else { options.word("by") };
        let left_out: &[&str] = match by {
            "flow" => &["PID", "COMMAND", "CPU", "RAN"],
            "process" => &["CPU", "AFTER", "HANDLER", "IDLE", "RAN"],
            "cpu" => &["AFTER", "HANDLER", "IDLE"],
            _ => &["PID", "COMMAND", "CPU", "AFTER", "HANDLER", "RAN"],
        };
        let groups = Groups::without(&GROUPING, left_out);
        let groups = if by == "cpu" { groups.in_blocks(3) } else { groups };
        let with_idle = !left_out.contains(&"IDLE");
        Irqsteal { groups, with_runs: by == "cpu", with_idle, top: options.count("top") }
    }
}

impl Observed for Irqsteal {
    fn take(&mut self, frame: &Frame<'_>) {
        let Some(rows) = frame.rows.of(&c::TABLE) else { return };
        let (with_runs, with_idle) = (self.with_runs, self.with_idle);
        self.groups.take(rows, frame.dt, |row| (with_runs || !has_run(row)) && (with_idle || !is_idle(row)));
    }

    fn show(&mut self, elapsed_s: f64, out: &mut String) {
        if self.groups.is_empty() {
            out.push_str("no interrupts\n");
        } else {
            self.groups.show(elapsed_s, self.top, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use fenxi_live::trace::When;
    use fenxi_model::{Micros, Rows, catalog::pin as c};

    use super::*;

    fn show(by: &str) -> String {
        let mut options = Options::new(crate::irqsteal::OBSERVER.options());
        options.give("by", Some(by)).unwrap();
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
        let mut view = Summed::new(Irqsteal::new(&options), When::AtTheEnd);
        let mut out = String::new();
        view.frame(&Frame { t: Micros(0), dt: 2.0, since_boot: false, rows: &rows }, &mut out);
        view.end(&mut out);
        out
    }

    #[test]
    fn a_driver_s_time_is_what_it_took_from_somebody() {
        let text = show("driver");
        let words = |n: usize| text.lines().nth(n).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words(0), "DRIVER CLASS PINS TIME AVG %CPU WAITED IDLE", "{text}");
        assert_eq!(words(1), "NET_RX soft 100 20.0 ms 200 µs 1.00 - -", "{text}");
        assert!(words(2).starts_with("eth0 hard 150 1.50 ms 10.0 µs"), "{text}");
        assert!(words(2).ends_with(" 10"), "{text}");
    }

    #[test]
    fn what_a_process_ran_stands_before_what_held_it_up() {
        let text = show("cpu");
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert!(lines[0].contains("(ran)") && lines[1].contains("NET_RX") && lines[2].contains("eth0"), "{text}");
        assert!(lines[3].contains("ping") && lines.len() == 4, "{text}");
    }

    #[test]
    fn who_is_held_up_is_told_apart_from_nobody() {
        let text = show("process");
        assert!(!text.contains(" 0  ") && text.lines().count() == 4, "{text}");
    }
}
