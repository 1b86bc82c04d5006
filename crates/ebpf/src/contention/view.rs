//! `trace contention`: locks of the kernel that threads waited for.

use fenxi_live::{
    Frame, View,
    trace::{Column, Grouping, Groups, Observed, Row, Sum, Summed, Total},
};
use fenxi_model::{Unit, catalog::lock as c};
use fenxi_source::Options;

use crate::Setting;

/// A line for each lock and caller, or for each process.
pub(super) fn new(options: &Options, setting: &Setting) -> Box<dyn View> {
    Box::new(Summed::new(Contention::new(options), setting.when))
}

/// How events of the kernel's locks begin: programs have locks, too.
pub(crate) const KERNEL: &str = "kernel ";

const WAITS: usize = 0;
const SECONDS: usize = 1;
const LONGEST_S: usize = 2;

static GROUPING: Grouping<c::Schema> = Grouping {
    table: &c::TABLE,
    sums: &[
        Sum::Added(|row| row.value(c::events)),
        Sum::Added(|row| row.value(c::total_s)),
        Sum::Maximum(|row| row.value(c::max_us) / 1e6),
    ],
    columns: &[
        Column::Figure("WAITS", |sums| format!("{:.0}", sums.of(WAITS))),
        Column::Figure("TOTAL", |sums| Unit::Seconds.human(sums.of(SECONDS)).to_string()),
        Column::Figure("MEAN", |sums| sums.mean_in(Unit::Seconds, SECONDS, WAITS)),
        Column::Figure("MAX", |sums| Unit::Seconds.human(sums.of(LONGEST_S)).to_string()),
        Column::Figure("%TIME", |sums| sums.share(SECONDS)),
        Column::Figure("WAITING", |sums| sums.at_once(SECONDS)),
        Column::Key("TYPE", |row| row.text(c::event).trim_start_matches(KERNEL).to_owned()),
        Column::Key("LOCK", |row| or_dash(row.text(c::lock))),
        Column::Key(
            "CALLER",
            |row| if row.has(c::caller) { row.text(c::caller).to_owned() } else { OTHERS.to_owned() },
        ),
        Column::Key("HOLDER", |row| or_dash(&who(row.text(c::holder), row.id(c::holder_pid)))),
        Column::Key("COMMAND (PID)", |row| or_others(row, who(row.text(c::comm), row.id(c::pid)))),
        Column::Key("STACK", |row| row.text(c::stack).rsplit(';').collect::<Vec<_>>().join(" < ")),
    ],
    order: |sums| [sums.of(SECONDS), sums.of(WAITS)],
    total: Total::None,
    less: " with less time",
};

const OTHERS: &str = "(others)";

fn or_others(row: Row<'_, c::Schema>, who: String) -> String {
    if row.has(c::comm) { who } else { OTHERS.to_owned() }
}

fn or_dash(text: &str) -> String {
    if text.is_empty() { "-".to_owned() } else { text.to_owned() }
}

fn who(comm: &str, pid: Option<i64>) -> String {
    pid.map_or_else(|| comm.to_owned(), |pid| format!("{comm} ({pid})"))
}

/// Shows the rows of the table `lock` that are of the kernel.
#[derive(Debug)]
struct Contention {
    top: usize,
    groups: Groups<c::Schema>,
}

impl Contention {
    fn new(options: &Options) -> Contention {
        let mut left_out: Vec<&str> = match options.word("by") {
            "process" => vec!["LOCK", "CALLER", "HOLDER"],
            "lock" => vec!["HOLDER", "COMMAND (PID)"],
            _ => vec![],
        };
        if !options.is_given("stacks") {
            left_out.push("STACK");
        }
        Contention { top: options.count("top"), groups: Groups::without(&GROUPING, &left_out) }
    }
}

impl Observed for Contention {
    fn take(&mut self, frame: &Frame<'_>) {
        if let Some(rows) = frame.rows.of(&c::TABLE) {
            self.groups.take(rows, frame.dt, |row| row.text(c::event).starts_with(KERNEL));
        }
    }

    fn show(&mut self, elapsed_s: f64, out: &mut String) {
        if self.groups.is_empty() {
            out.push_str("no waits for locks of the kernel\n");
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
        let mut options = Options::new(crate::contention::OBSERVER.options());
        given.iter().for_each(|(name, value)| options.give(name, *value).unwrap());
        let mut rows = Rows::new("h");
        for (event, comm, holder, waits, total_s, max_us) in [
            ("kernel rwsem read", Some("app"), Some("mapper"), 30.0, 0.6, 50_000.0),
            ("kernel rwsem read", Some("app"), None, 10.0, 0.2, 90_000.0),
            ("kernel spinlock", None, None, 1000.0, 0.2, 700.0),
            ("mutex block", Some("app"), None, 10.0, 9.0, 1e6),
        ] {
            let mut row = rows.row(&c::TABLE, Micros(0), 2.0);
            row.str(c::event, event).str(c::comm, comm).i64(c::pid, comm.map(|_| 7));
            if comm.is_some() {
                row.str(c::lock, "mmap_lock").str(c::caller, "do_user_addr_fault");
                row.str(c::stack, "asm_exc_page_fault;do_user_addr_fault");
            }
            row.str(c::holder, holder).i64(c::holder_pid, holder.map(|_| 8));
            row.f64(c::events, waits).f64(c::total_s, total_s).f64(c::max_us, max_us);
        }
        let mut view = Summed::new(Contention::new(&options), When::AtTheEnd);
        let mut out = String::new();
        view.frame(&Frame { t: Micros(0), dt: 2.0, since_boot: false, rows: &rows }, &mut out);
        view.end(&mut out);
        out
    }

    #[test]
    fn holders_are_told_apart_and_programs_locks_are_left_out() {
        assert_eq!(
            show(&[]),
            "\
WAITS   TOTAL     MEAN      MAX  %TIME  WAITING  TYPE        LOCK       CALLER              HOLDER      COMMAND (PID)
   30  600 ms  20.0 ms  50.0 ms   60.0    0.300  rwsem read  mmap_lock  do_user_addr_fault  mapper (8)  app (7)
 1000  200 ms   200 µs   700 µs   20.0    0.100  spinlock    -          (others)            -           (others)
   10  200 ms  20.0 ms  90.0 ms   20.0    0.100  rwsem read  mmap_lock  do_user_addr_fault  -           app (7)
"
        );
    }

    #[test]
    fn processes_are_added_up_with_their_longest_wait() {
        let text = show(&[("by", Some("process"))]);
        let words = |n: usize| text.lines().nth(n).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words(1), "40 800 ms 20.0 ms 90.0 ms 80.0 0.400 rwsem read app (7)", "{text}");
    }

    #[test]
    fn stacks_begin_at_the_caller() {
        let text = show(&[("stacks", None), ("by", Some("lock"))]);
        assert!(text.contains("do_user_addr_fault < asm_exc_page_fault"), "{text}");
    }
}
