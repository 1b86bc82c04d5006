//! `trace plockstat`: locks that threads wait for, or hold.

use std::{collections::BTreeMap, fmt::Write};

use fenxi_live::{
    Frame, View,
    trace::{Column, Distributions, Grouping, Groups, Observed, Row, Sum, Summed, Total},
};
use fenxi_model::{
    Unit,
    catalog::{histogram, lock as c},
};
use fenxi_source::Options;

use crate::Setting;

/// A table for each kind of event, and distributions if they are wanted.
pub(super) fn new(options: &Options, setting: &Setting) -> Box<dyn View> {
    Box::new(Summed::new(Plockstat::new(options), setting.when))
}

const EVENTS: usize = 0;
const TOTAL_S: usize = 1;

static GROUPING: Grouping<c::Schema> = Grouping {
    table: &c::TABLE,
    sums: &[Sum::Added(|row| row.value(c::events)), Sum::Added(total_s)],
    columns: &[
        Column::Figure("COUNT", |sums| format!("{:.0}", sums.of(EVENTS))),
        Column::Figure("MEAN", |sums| seconds(sums.of(TOTAL_S) / sums.of(EVENTS).max(1.0))),
        Column::Figure("TOTAL", |sums| seconds(sums.of(TOTAL_S))),
        Column::Figure("%TIME", |sums| sums.share(TOTAL_S)),
        Column::Key("LOCK", |row| row.text(c::lock).to_owned()),
        Column::Key("CALLER", |row| row.text(c::caller).to_owned()),
        Column::Key("COMMAND (PID)", |row| match row.id(c::pid) {
            Some(pid) => format!("{} ({pid})", row.text(c::comm)),
            None => row.text(c::comm).to_owned(),
        }),
    ],
    order: |sums| [sums.of(TOTAL_S), 0.0],
    total: Total::None,
    less: " with less time",
};

/// Total time; imported rows may have means only.
fn total_s(row: Row<'_, c::Schema>) -> f64 {
    let by_mean = || row.number(c::mean_us).map(|mean| mean * row.value(c::events) / 1e6);
    row.number(c::total_s).or_else(by_mean).unwrap_or(0.0)
}

fn seconds(value: f64) -> String {
    Unit::Seconds.human(value).to_string()
}

/// Shows the tables `lock` and `histogram`.
#[derive(Debug)]
struct Plockstat {
    /// By kind of event.
    kinds: BTreeMap<String, Groups<c::Schema>>,
    distributions: Distributions,
    /// Locks of each kind at most.
    top: usize,
    /// Whether distributions are shown, too.
    drawn: bool,
}

impl Plockstat {
    fn new(options: &Options) -> Plockstat {
        let (top, drawn) = (options.count("top"), options.is_given("distributions"));
        Plockstat { kinds: BTreeMap::new(), distributions: Distributions::default(), top, drawn }
    }
}

impl Observed for Plockstat {
    fn take(&mut self, frame: &Frame<'_>) {
        if let Some(rows) = frame.rows.of(&c::TABLE) {
            for row in 0..rows.n_rows() {
                let event = rows.str(row, c::event).unwrap_or("");
                // The kernel's own are those of `trace contention`.
                if event.starts_with(crate::contention::KERNEL) {
                    continue;
                }
                if !self.kinds.contains_key(event) {
                    self.kinds.insert(event.to_owned(), Groups::new(&GROUPING));
                }
            }
            for (event, groups) in &mut self.kinds {
                groups.take(rows, frame.dt, |row| row.text(c::event) == event);
            }
        }
        if let Some(rows) = frame.rows.of(&histogram::TABLE).filter(|_| self.drawn) {
            self.distributions.take(rows, "lock_");
        }
    }

    fn show(&mut self, elapsed_s: f64, out: &mut String) {
        if self.kinds.is_empty() {
            out.push_str("no contention\n");
        }
        let mut kinds: Vec<_> = std::mem::take(&mut self.kinds).into_iter().collect();
        kinds.sort_by(|(_, a), (_, b)| b.whole()[TOTAL_S].total_cmp(&a.whole()[TOTAL_S]));
        for (event, mut groups) in kinds {
            let mut letters = event.chars();
            let first = letters.next().map(|letter| letter.to_uppercase().to_string());
            let _ = writeln!(out, "{}{}\n", first.unwrap_or_default(), letters.as_str());
            groups.show(elapsed_s, self.top, out);
            out.push('\n');
        }
        if self.drawn {
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
    fn kinds_have_a_table_each_and_shares_are_of_their_kind() {
        let mut options = Options::new(crate::plockstat::OBSERVER.options());
        options.give("top", Some("1")).unwrap();
        let mut rows = Rows::new("h");
        for (event, lock, pid, events, total_s, mean_us) in [
            ("rwlock read block", "r", Some(7), 1.0, Some(0.25), None),
            ("mutex block", "a", Some(7), 10.0, Some(0.75), None),
            ("mutex block", "b", None, 5.0, None, Some(50_000.0)),
        ] {
            rows.row(&c::TABLE, Micros(0), 2.0)
                .str(c::comm, "prog")
                .i64(c::pid, pid)
                .str(c::event, event)
                .str(c::lock, lock)
                .str(c::caller, "f")
                .f64(c::events, events)
                .f64(c::total_s, total_s)
                .f64(c::mean_us, mean_us);
        }
        let mut view = Summed::new(Plockstat::new(&options), When::AtTheEnd);
        let mut out = String::new();
        view.frame(&Frame { t: Micros(0), dt: 2.0, since_boot: false, rows: &rows }, &mut out);
        view.end(&mut out);
        assert_eq!(
            out,
            "\
Mutex block

COUNT     MEAN   TOTAL  %TIME  LOCK  CALLER  COMMAND (PID)
   10  75.0 ms  750 ms   75.0  a     f       prog (7)
(1 more with less time: --top)

Rwlock read block

COUNT    MEAN   TOTAL  %TIME  LOCK  CALLER  COMMAND (PID)
    1  250 ms  250 ms  100.0  r     f       prog (7)

"
        );
    }
}
