//! `trace runqlat`: how long threads that could run waited for a CPU.

use fenxi_live::{
    Frame, View,
    trace::{Column, Distributions, Grouping, Groups, Observed, Sum, Summed, Total},
};
use fenxi_model::{
    Unit,
    catalog::{histogram, run_queue as c},
};
use fenxi_source::Options;

use crate::Setting;

/// A line for each program, process or CPU, and their distributions.
pub(super) fn new(options: &Options, setting: &Setting) -> Box<dyn View> {
    Box::new(Summed::new(Runqlat::new(options), setting.when))
}

static GROUPING: Grouping<c::Schema> = Grouping {
    table: &c::TABLE,
    sums: &[Sum::Added(|row| row.value(c::waits)), Sum::Added(|row| row.value(c::waited_s))],
    columns: &[
        Column::Number("CPU", |row| row.text(c::cpu).to_owned()),
        Column::Number("PID", |row| row.id_or(c::pid, "-")),
        Column::Key(
            "COMMAND",
            |row| if row.has(c::comm) { row.text(c::comm).to_owned() } else { "(others)".to_owned() },
        ),
        Column::Figure("WAITS", |sums| format!("{:.0}", sums.of(WAITS))),
        Column::Figure("WAITED", |sums| Unit::Seconds.human(sums.of(SECONDS)).to_string()),
        Column::Figure("MEAN", |sums| sums.mean_in(Unit::Seconds, SECONDS, WAITS)),
        Column::Figure("%WAITED", |sums| sums.share(SECONDS)),
        Column::Figure("WAITING", |sums| sums.at_once(SECONDS)),
    ],
    order: |sums| [sums.of(SECONDS), sums.of(WAITS)],
    total: Total::OfSeveral("TOTAL"),
    less: " with less time",
};
const WAITS: usize = 0;
const SECONDS: usize = 1;

/// Shows the tables `run_queue` and `histogram`.
#[derive(Debug)]
struct Runqlat {
    top: usize,
    groups: Groups<c::Schema>,
    /// Of CPUs or of programs, as lines are.
    distributions: Distributions,
    labels: &'static str,
    /// Whether they are shown.
    drawn: bool,
}

impl Runqlat {
    fn new(options: &Options) -> Runqlat {
        let (left_out, labels): (&[&str], _) = match options.word("by") {
            "cpu" => (&["PID", "COMMAND"], "cpu="),
            "process" => (&["CPU"], "comm="),
            _ => (&["CPU", "PID"], "comm="),
        };
        let groups = Groups::without(&GROUPING, left_out);
        let (top, drawn) = (options.count("top"), options.is_given("distributions"));
        Runqlat { top, groups, distributions: Distributions::default(), labels, drawn }
    }
}

impl Observed for Runqlat {
    fn take(&mut self, frame: &Frame<'_>) {
        if let Some(rows) = frame.rows.of(&c::TABLE) {
            self.groups.take(rows, frame.dt, |_| true);
        }
        if let Some(rows) = frame.rows.of(&histogram::TABLE).filter(|_| self.drawn) {
            self.distributions.take_labelled(rows, "run_queue_us", self.labels);
        }
    }

    fn show(&mut self, elapsed_s: f64, out: &mut String) {
        if self.groups.is_empty() {
            out.push_str("no waits for a CPU\n");
            return;
        }
        self.groups.show(elapsed_s, self.top, out);
        if self.drawn {
            out.push('\n');
            self.distributions.show(out);
        }
    }
}

#[cfg(test)]
mod tests {
    use fenxi_live::trace::When;
    use fenxi_model::{Micros, Rows};

    use super::*;

    fn show(by: &str) -> String {
        let mut options = Options::new(crate::runqlat::OBSERVER.options());
        options.give("by", Some(by)).unwrap();
        options.give("distributions", None).unwrap();
        let mut rows = Rows::new("h");
        for (cpu, pid, comm, waits, waited_s) in [
            ("0", Some(7), Some("hog"), 100.0, 0.5),
            ("1", Some(7), Some("hog"), 50.0, 0.25),
            ("0", Some(8), Some("hog"), 10.0, 0.2),
            ("1", None, None, 40.0, 0.05),
        ] {
            rows.row(&c::TABLE, Micros(0), 2.0)
                .str(c::cpu, cpu)
                .str(c::comm, comm)
                .i64(c::pid, pid)
                .f64(c::waits, waits)
                .f64(c::waited_s, waited_s);
        }
        for (labels, lo, count) in [("comm=hog", 4.096, 160.0), ("cpu=0", 4.096, 110.0), ("cpu=1", 2.048, 90.0)] {
            rows.row(&histogram::TABLE, Micros(0), 2.0)
                .str(histogram::name, "run_queue_us")
                .str(histogram::labels, labels)
                .str(histogram::unit, "us")
                .f64(histogram::lo, lo)
                .f64(histogram::count, count);
        }
        let mut view = Summed::new(Runqlat::new(&options), When::AtTheEnd);
        let mut out = String::new();
        view.frame(&Frame { t: Micros(0), dt: 2.0, since_boot: false, rows: &rows }, &mut out);
        view.end(&mut out);
        out
    }

    #[test]
    fn programs_are_added_up_over_processes_and_cpus() {
        let text = show("command");
        let table = text.split("\n\n").next().unwrap();
        assert_eq!(
            table,
            "\
COMMAND   WAITS   WAITED     MEAN  %WAITED  WAITING
hog         160   950 ms  5.94 ms     95.0    0.475
(others)     40  50.0 ms  1.25 ms      5.0    0.025
TOTAL       200   1.00 s  5.00 ms    100.0    0.500"
        );
        assert!(text.contains("run_queue_us comm=hog (us)") && !text.contains("cpu="), "{text}");
    }

    #[test]
    fn cpus_are_told_apart_with_a_distribution_each() {
        let text = show("cpu");
        let words = |n: usize| text.lines().nth(n).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(
            (words(0), words(1)),
            ("CPU WAITS WAITED MEAN %WAITED WAITING".into(), "0 110 700 ms 6.36 ms 70.0 0.350".into())
        );
        assert!(text.contains("run_queue_us cpu=0 (us)") && text.contains("run_queue_us cpu=1 (us)"), "{text}");
        assert!(!text.contains("comm="), "{text}");
    }

    #[test]
    fn processes_have_a_line_each() {
        let text = show("process");
        let hogs = text.lines().filter(|line| line.contains(" hog ")).count();
        assert_eq!(hogs, 2, "{text}");
    }
}
