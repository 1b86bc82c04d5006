//! `trace microstates`: threads and the states in which they spend their time.

use fenxi_live::{
    Frame, View,
    trace::{Column, Grouping, Groups, Observed, Sum, Summed, Sums, Total},
};
use fenxi_model::catalog::thread as c;
use fenxi_source::Options;

use crate::Setting;

/// A line for each thread, process or name.
pub(super) fn new(options: &Options, setting: &Setting) -> Box<dyn View> {
    Box::new(Summed::new(Microstates::new(options), setting.when))
}

static GROUPING: Grouping<c::Schema> = Grouping {
    table: &c::TABLE,
    // Percent of rows become those of all intervals.
    sums: &[
        Sum::Added(|row| row.value(c::usr) * row.dt),
        Sum::Added(|row| row.value(c::sys) * row.dt),
        Sum::Added(|row| row.value(c::data_fault) * row.dt),
        Sum::Added(|row| row.value(c::lock_wait) * row.dt),
        Sum::Added(|row| row.value(c::sleep) * row.dt),
        Sum::Added(|row| row.value(c::run_queue_wait) * row.dt),
        Sum::Added(|row| row.value(c::voluntary_switches_per_s) * row.dt),
        Sum::Added(|row| row.value(c::involuntary_switches_per_s) * row.dt),
        Sum::Added(|row| row.value(c::syscalls_per_s) * row.dt),
    ],
    columns: &[
        Column::Number("PID", |row| row.id_or(c::pid, "-")),
        Column::Number("TID", |row| row.id_or(c::tid, "-")),
        Column::Key("THREAD", |row| row.text(c::comm).to_owned()),
        Column::Figure("USR", |sums| sums.per_s(0)),
        Column::Figure("SYS", |sums| sums.per_s(1)),
        Column::Figure("DFL", |sums| sums.per_s(2)),
        Column::Figure("LCK", |sums| sums.per_s(3)),
        Column::Figure("SLP", |sums| sums.per_s(4)),
        Column::Figure("LAT", |sums| sums.per_s(5)),
        Column::Figure("VCX", |sums| rate(sums, 6)),
        Column::Figure("ICX", |sums| rate(sums, 7)),
        Column::Figure("SCL", |sums| rate(sums, 8)),
    ],
    order: |sums| [sums.of(0) + sums.of(1), sums.of(5) + sums.of(3)],
    total: Total::None,
    less: " with less CPU time",
};

fn rate(sums: &Sums<'_>, place: usize) -> String {
    if sums.elapsed_s > 0.0 { format!("{:.0}", sums.of(place) / sums.elapsed_s) } else { "-".to_owned() }
}

/// Shows the table `thread`.
#[derive(Debug)]
struct Microstates {
    top: usize,
    groups: Groups<c::Schema>,
}

impl Microstates {
    fn new(options: &Options) -> Microstates {
        let left_out: &[&str] = match options.word("by") {
            "process" => &["TID", "THREAD"],
            "command" => &["PID", "TID"],
            _ => &[],
        };
        Microstates { top: options.count("top"), groups: Groups::without(&GROUPING, left_out) }
    }
}

impl Observed for Microstates {
    fn take(&mut self, frame: &Frame<'_>) {
        if let Some(rows) = frame.rows.of(&c::TABLE) {
            self.groups.take(rows, frame.dt, |_| true);
        }
    }

    fn show(&mut self, elapsed_s: f64, out: &mut String) {
        if self.groups.is_empty() {
            out.push_str("no thread did anything\n");
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

    fn show(by: &str) -> String {
        let mut options = Options::new(crate::microstates::OBSERVER.options());
        options.give("by", Some(by)).unwrap();
        let mut view = Summed::new(Microstates::new(&options), When::AtTheEnd);
        let mut out = String::new();
        for (t, dt, usr, lock) in [(1_000_000, 1.0, 90.0, 10.0), (4_000_000, 3.0, 50.0, 50.0)] {
            let mut rows = Rows::new("h");
            for tid in [7, 8] {
                rows.row(&c::TABLE, Micros(t), dt)
                    .i64(c::pid, 7)
                    .i64(c::tid, tid)
                    .str(c::comm, "app")
                    .f64(c::usr, usr)
                    .f64(c::sys, 0.0)
                    .f64(c::lock_wait, lock)
                    .f64(c::syscalls_per_s, 100.0);
            }
            view.frame(&Frame { t: Micros(t), dt, since_boot: false, rows: &rows }, &mut out);
        }
        view.end(&mut out);
        out
    }

    #[test]
    fn states_of_several_intervals_are_weighted_by_their_lengths() {
        assert_eq!(
            show("thread"),
            "\
PID  TID  THREAD   USR  SYS  DFL   LCK  SLP  LAT  VCX  ICX  SCL
  7    7  app     60.0  0.0  0.0  40.0  0.0  0.0    0    0  100
  7    8  app     60.0  0.0  0.0  40.0  0.0  0.0    0    0  100
"
        );
    }

    #[test]
    fn threads_of_a_process_are_added_up() {
        let text = show("process");
        let words: Vec<_> = text.lines().nth(1).unwrap().split_whitespace().collect();
        assert_eq!(words, ["7", "120.0", "0.0", "0.0", "80.0", "0.0", "0.0", "0", "0", "200"], "{text}");
    }
}
