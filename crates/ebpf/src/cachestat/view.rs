//! `trace cachestat`: hits and misses of the page cache.

use fenxi_live::{
    Frame, View,
    trace::{Column, Grouping, Groups, Observed, Sum, Summed, Sums, Total},
};
use fenxi_model::catalog::cache_access as c;
use fenxi_source::Options;

use crate::Setting;

/// A line for each program or process, or one for all.
pub(super) fn new(options: &Options, setting: &Setting) -> Box<dyn View> {
    Box::new(Summed::new(Cachestat::new(options), setting.when))
}

const ACCESSES: usize = 0;
const MISSES: usize = 1;
const WRITTEN: usize = 2;
const REMOVED: usize = 3;

static GROUPING: Grouping<c::Schema> = Grouping {
    table: &c::TABLE,
    sums: &[
        Sum::Added(|row| row.value(c::accesses)),
        Sum::Added(|row| row.value(c::misses)),
        Sum::Added(|row| row.value(c::written)),
        Sum::Added(|row| row.value(c::removed)),
    ],
    columns: &[
        Column::Number("PID", |row| row.id_or(c::pid, "-")),
        Column::Key(
            "COMMAND",
            |row| if row.has(c::comm) { row.text(c::comm).to_owned() } else { "(others)".to_owned() },
        ),
        Column::Figure("ACCESSES", |sums| whole(sums.of(ACCESSES))),
        Column::Figure("HITS", |sums| whole(hits(sums))),
        Column::Figure("MISSES", |sums| whole(sums.of(MISSES))),
        Column::Figure("%HIT", |sums| match sums.of(ACCESSES) {
            accesses if accesses > 0.0 => format!("{:.1}", 100.0 * hits(sums) / accesses),
            _ => "-".to_owned(),
        }),
        Column::Figure("MISSES/S", |sums| sums.per_s(MISSES)),
        Column::Figure("WRITTEN", |sums| whole(sums.of(WRITTEN))),
        Column::Figure("REMOVED", |sums| whole(sums.of(REMOVED))),
    ],
    order: |sums| [sums.of(MISSES), sums.of(ACCESSES)],
    total: Total::OfSeveral("TOTAL"),
    less: " with fewer misses",
};

/// Accesses less misses. A page that is read ahead is a miss before it is accessed, if it ever is.
fn hits(sums: &Sums<'_>) -> f64 {
    (sums.of(ACCESSES) - sums.of(MISSES)).max(0.0)
}

fn whole(value: f64) -> String {
    format!("{value:.0}")
}

/// Shows the table `cache_access`.
#[derive(Debug)]
struct Cachestat {
    top: usize,
    groups: Groups<c::Schema>,
}

impl Cachestat {
    fn new(options: &Options) -> Cachestat {
        let left_out: &[&str] = match options.word("by") {
            "process" => &[],
            "all" => &["PID", "COMMAND"],
            _ => &["PID"],
        };
        Cachestat { top: options.count("top"), groups: Groups::without(&GROUPING, left_out) }
    }
}

impl Observed for Cachestat {
    fn take(&mut self, frame: &Frame<'_>) {
        if let Some(rows) = frame.rows.of(&c::TABLE) {
            self.groups.take(rows, frame.dt, |_| true);
        }
    }

    fn show(&mut self, elapsed_s: f64, out: &mut String) {
        if self.groups.is_empty() {
            out.push_str("no accesses to the page cache\n");
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
        let mut options = Options::new(crate::cachestat::OBSERVER.options());
        options.give("by", Some(by)).unwrap();
        let mut rows = Rows::new("h");
        for (comm, pid, accesses, misses, written, removed) in [
            (Some("cat"), Some(7), 1000.0, 900.0, 0.0, 0.0),
            (Some("cat"), Some(8), 500.0, 0.0, 0.0, 0.0),
            (None, None, 0.0, 0.0, 40.0, 7.0),
        ] {
            rows.row(&c::TABLE, Micros(0), 2.0)
                .str(c::comm, comm)
                .i64(c::pid, pid)
                .f64(c::accesses, accesses)
                .f64(c::misses, misses)
                .f64(c::written, written)
                .f64(c::removed, removed);
        }
        let mut view = Summed::new(Cachestat::new(&options), When::AtTheEnd);
        let mut out = String::new();
        view.frame(&Frame { t: Micros(0), dt: 2.0, since_boot: false, rows: &rows }, &mut out);
        view.end(&mut out);
        out
    }

    #[test]
    fn programs_are_added_up() {
        assert_eq!(
            show("command"),
            "\
COMMAND   ACCESSES  HITS  MISSES  %HIT  MISSES/S  WRITTEN  REMOVED
cat           1500   600     900  40.0     450.0        0        0
(others)         0     0       0     -       0.0       40        7
TOTAL         1500   600     900  40.0     450.0       40        7
"
        );
    }

    #[test]
    fn all_are_one_line() {
        let text = show("all");
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(text.starts_with("ACCESSES"), "{text}");
    }
}
