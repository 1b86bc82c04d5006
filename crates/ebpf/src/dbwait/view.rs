//! `trace dbwait`: wait events by time.

use fenxi_db::activity;
use fenxi_live::{
    Frame, View,
    trace::{Column, Distributions, Grouping, Groups, Observed, Sum, Summed, Total},
};
use fenxi_model::{
    Unit,
    catalog::{db_wait as c, histogram},
};
use fenxi_source::Options;

use crate::Setting;

/// A line for each event, activity or server.
pub(super) fn new(options: &Options, setting: &Setting) -> Box<dyn View> {
    Box::new(Summed::new(Dbwait::new(options), setting.when))
}

static GROUPING: Grouping<c::Schema> = Grouping {
    table: &c::TABLE,
    sums: &[
        Sum::Added(|row| row.value(c::waits_per_s) * row.dt),
        Sum::Added(|row| row.value(c::time) * row.dt),
        Sum::Added(|row| row.value(c::mean_ms) * row.value(c::waits_per_s) * row.dt / 1e3),
    ],
    columns: &[
        Column::Key("SERVER", |row| row.text(c::server).to_owned()),
        Column::Key("KIND", |row| row.text(c::kind).to_owned()),
        Column::Key("ACTIVITY", |row| row.text(c::activity).to_owned()),
        Column::Key("CLASS", |row| if row.has(c::wait_class) { row.text(c::wait_class) } else { "-" }.to_owned()),
        Column::Key("EVENT", |row| row.text(c::wait_event).to_owned()),
        Column::Figure("WAITS", |sums| format!("{:.0}", sums.of(WAITS))),
        Column::Figure("TIME", |sums| Unit::Seconds.human(sums.of(SECONDS)).to_string()),
        Column::Figure("MEAN", |sums| sums.mean_in(Unit::Seconds, ENDED, WAITS)),
        Column::Figure("%TIME", |sums| sums.share(SECONDS)),
        Column::Figure("SESSIONS", |sums| sums.at_once(SECONDS)),
    ],
    order: |sums| [sums.of(SECONDS), sums.of(WAITS)],
    total: Total::OfSeveral("TOTAL"),
    less: " with less time",
};
const WAITS: usize = 0;
const SECONDS: usize = 1;
const ENDED: usize = 2;

/// Shows the tables `db_wait` and `histogram`.
#[derive(Debug)]
struct Dbwait {
    top: usize,
    groups: Groups<c::Schema>,
    distributions: Distributions,
    drawn: bool,
    all: bool,
}

impl Dbwait {
    fn new(options: &Options) -> Dbwait {
        let left_out: &[&str] = match options.word("by") {
            "activity" => &["SERVER", "KIND", "CLASS", "EVENT"],
            "server" => &["KIND", "ACTIVITY", "CLASS", "EVENT"],
            _ => &["SERVER"],
        };
        Dbwait {
            top: options.count("top"),
            groups: Groups::without(&GROUPING, left_out),
            distributions: Distributions::default(),
            drawn: options.is_given("distributions"),
            all: options.is_given("all"),
        }
    }
}

impl Observed for Dbwait {
    fn take(&mut self, frame: &Frame<'_>) {
        if let Some(rows) = frame.rows.of(&c::TABLE) {
            let all = self.all;
            self.groups.take(rows, frame.dt, |row| {
                // A run with samples has rows of these, too, which are never added to these.
                row.text(c::measured) == "exact" && (all || row.text(c::activity) != activity::IDLE)
            });
        }
        if let Some(rows) = frame.rows.of(&histogram::TABLE).filter(|_| self.drawn) {
            self.distributions.take(rows, "db_wait_us");
        }
    }

    fn show(&mut self, elapsed_s: f64, out: &mut String) {
        if self.groups.is_empty() {
            out.push_str("no session of PostgreSQL did anything\n");
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

    #[test]
    fn waits_are_added_up_over_time_and_samples_are_left_out() {
        let options = Options::new(crate::dbwait::OBSERVER.options());
        let mut view = Summed::new(Dbwait::new(&options), When::AtTheEnd);
        let mut out = String::new();
        let mut rows = Rows::new("h");
        for (event, activity, measured, per_s, time, mean_ms) in [
            ("advisory", "lock", "exact", 5.0, 0.5, 100.0),
            ("ClientRead", "idle", "exact", 1.0, 1.0, 1000.0),
            ("advisory", "lock", "sampled", 0.0, 0.7, 0.0),
        ] {
            rows.row(&c::TABLE, Micros(0), 2.0)
                .str(c::server, "s")
                .str(c::kind, "client")
                .str(c::wait_class, "Lock")
                .str(c::wait_event, event)
                .str(c::activity, activity)
                .str(c::measured, measured)
                .f64(c::waits_per_s, per_s)
                .f64(c::time, time)
                .f64(c::mean_ms, mean_ms);
        }
        view.frame(&Frame { t: Micros(0), dt: 2.0, since_boot: false, rows: &rows }, &mut out);
        view.end(&mut out);
        assert_eq!(
            out,
            "\
KIND    ACTIVITY  CLASS  EVENT     WAITS    TIME    MEAN  %TIME  SESSIONS
client  lock      Lock   advisory     10  1.00 s  100 ms  100.0     0.500
"
        );
    }
}
