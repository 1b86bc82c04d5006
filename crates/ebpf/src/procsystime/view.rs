//! `trace procsystime`: where time goes in system calls.

use std::fmt::Write;

use fenxi_live::{
    Frame, View,
    trace::{Column, Grouping, Groups, Observed, Sum, Summed, Total},
};
use fenxi_model::{Unit, catalog::syscall as c};
use fenxi_source::Options;

use crate::Setting;

/// A line for each call, or for each program or process and call.
pub(super) fn new(options: &Options, setting: &Setting) -> Box<dyn View> {
    Box::new(Summed::new(Procsystime::new(options), setting.when))
}

const CALLS: usize = 0;
const ERRORS: usize = 1;
const ELAPSED_S: usize = 2;
const CPU_S: usize = 3;

const SUMS: &[Sum<c::Schema>] = &[
    Sum::Added(|row| row.value(c::calls)),
    Sum::Added(|row| row.value(c::errors)),
    Sum::Added(|row| row.value(c::elapsed_s)),
    Sum::Added(|row| row.value(c::cpu_s)),
];

static GROUPING: Grouping<c::Schema> = Grouping {
    table: &c::TABLE,
    sums: SUMS,
    columns: &[
        Column::Number("PID", |row| row.id_or(c::pid, "")),
        Column::Key("COMMAND", |row| row.text(c::comm).to_owned()),
        Column::Key("SYSCALL", |row| row.text(c::syscall).to_owned()),
        Column::Figure("CALLS", |sums| format!("{:.0}", sums.of(CALLS))),
        Column::Figure("ERRORS", |sums| format!("{:.0}", sums.of(ERRORS))),
        Column::Figure("ELAPSED", |sums| seconds(sums.of(ELAPSED_S))),
        Column::Figure("CPU", |sums| seconds(sums.of(CPU_S))),
        Column::Figure("AVG", |sums| seconds(sums.mean(ELAPSED_S, CALLS).unwrap_or(0.0))),
        Column::Figure("%ELAPSED", |sums| sums.share(ELAPSED_S)),
        Column::Figure("%CPU", |sums| sums.share(CPU_S)),
    ],
    order: |sums| [sums.of(ELAPSED_S), 0.0],
    total: Total::OfSeveral("TOTAL"),
    less: " with less time",
};

/// As people know it from `truss -c`; its seconds are CPU time.
static COUNTS: Grouping<c::Schema> = Grouping {
    columns: &[
        Column::Key("syscall", |row| row.text(c::syscall).to_owned()),
        Column::Figure("seconds", |sums| format!("{:.6}", sums.of(CPU_S))),
        Column::Figure("calls", |sums| format!("{:.0}", sums.of(CALLS))),
        Column::Figure("errors", |sums| match sums.of(ERRORS) {
            errors if errors > 0.0 => format!("{errors:.0}"),
            _ => String::new(),
        }),
    ],
    total: Total::Always("sys totals:"),
    ..GROUPING
};

fn seconds(value: f64) -> String {
    Unit::Seconds.human(value).to_string()
}

/// Shows the table `syscall`.
#[derive(Debug)]
struct Procsystime {
    groups: Groups<c::Schema>,
    /// Whether it is as `truss -c`: all calls, and nothing but seconds, calls, errors.
    counts: bool,
    top: usize,
}

impl Procsystime {
    fn new(options: &Options) -> Procsystime {
        let counts = options.is_given("counts");
        let groups = match options.word("by") {
            _ if counts => Groups::new(&COUNTS),
            "call" => Groups::without(&GROUPING, &["PID", "COMMAND"]),
            "command" => Groups::without(&GROUPING, &["PID"]),
            _ => Groups::new(&GROUPING),
        };
        Procsystime { groups, counts, top: options.count("top") }
    }
}

impl Observed for Procsystime {
    fn take(&mut self, frame: &Frame<'_>) {
        if let Some(rows) = frame.rows.of(&c::TABLE) {
            self.groups.take(rows, frame.dt, |_| true);
        }
    }

    fn show(&mut self, elapsed_s: f64, out: &mut String) {
        if self.counts {
            let whole = self.groups.whole();
            self.groups.show(elapsed_s, usize::MAX, out);
            let _ = writeln!(out, "elapsed in calls: {}", seconds(whole[ELAPSED_S]));
        } else if self.groups.is_empty() {
            out.push_str("no system calls\n");
        } else {
            self.groups.show(elapsed_s, self.top, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use fenxi_live::trace::When;
    use fenxi_model::{Micros, Rows};

    use super::*;

    fn show(given: &[(&str, Option<&str>)]) -> String {
        let mut options = Options::new(crate::procsystime::OBSERVER.options());
        given.iter().for_each(|(name, value)| options.give(name, *value).unwrap());
        let mut rows = Rows::new("h");
        for (comm, pid, call, calls, errors, elapsed_s, cpu_s) in [
            ("sh", 7, "read", 100.0, 0.0, 0.3, 0.01),
            ("sh", 8, "read", 100.0, 0.0, 0.1, 0.01),
            ("cat", 9, "write", 10.0, 2.0, 0.1, 0.06),
        ] {
            rows.row(&c::TABLE, Micros(0), 2.0)
                .str(c::comm, comm)
                .i64(c::pid, pid)
                .str(c::syscall, call)
                .f64(c::calls, calls)
                .f64(c::errors, errors)
                .f64(c::elapsed_s, elapsed_s)
                .f64(c::cpu_s, cpu_s);
        }
        let mut view = Summed::new(Procsystime::new(&options), When::AtTheEnd);
        let mut out = String::new();
        view.frame(&Frame { t: Micros(0), dt: 2.0, since_boot: false, rows: &rows }, &mut out);
        view.end(&mut out);
        out
    }

    #[test]
    fn calls_are_added_up_and_have_a_total() {
        assert_eq!(
            show(&[]),
            "\
SYSCALL  CALLS  ERRORS  ELAPSED      CPU      AVG  %ELAPSED   %CPU
read       200       0   400 ms  20.0 ms  2.00 ms      80.0   25.0
write       10       2   100 ms  60.0 ms  10.0 ms      20.0   75.0
TOTAL      210       2   500 ms  80.0 ms  2.38 ms     100.0  100.0
"
        );
    }

    #[test]
    fn processes_are_told_apart_when_that_is_asked_for() {
        let text = show(&[("by", Some("process")), ("top", Some("2"))]);
        let words = |n: usize| text.lines().nth(n).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words(0), "PID COMMAND SYSCALL CALLS ERRORS ELAPSED CPU AVG %ELAPSED %CPU", "{text}");
        assert_eq!(words(1), "7 sh read 100 0 300 ms 10.0 ms 3.00 ms 60.0 12.5", "{text}");
        assert_eq!(words(3), "TOTAL 210 2 500 ms 80.0 ms 2.38 ms 100.0 100.0", "{text}");
        assert_eq!(text.lines().last(), Some("(1 more with less time: --top)"), "{text}");
    }

    #[test]
    fn counts_are_as_truss_shows_them() {
        assert_eq!(
            show(&[("counts", None)]),
            "\
syscall       seconds  calls  errors
read         0.020000    200
write        0.060000     10       2
sys totals:  0.080000    210       2
elapsed in calls: 500 ms
"
        );
    }
}
