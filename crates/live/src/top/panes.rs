//! The panes of `db top`, as data: which rows each shows, in which columns.

use fenxi_model::{
    Rows, TableRows, Type,
    catalog::{db_io, db_lock, db_progress, db_session, db_statement, db_table, db_wait},
};

use super::history::{History, Moment};
use crate::dbstat::figure;

/// A column of a pane.
#[derive(Debug)]
pub struct Column {
    /// Title.
    pub title: &'static str,
    place: usize,
    /// How a number is shown.
    show: fn(f64) -> String,
}

const fn column(title: &'static str, place: usize, show: fn(f64) -> String) -> Column {
    Column { title, place, show }
}

/// Rows of one or several tables, the first of which has the columns.
#[derive(Debug)]
pub struct Pane {
    /// The key that chooses it.
    pub key: char,
    /// Its title.
    pub title: &'static str,
    /// Names of its tables.
    pub tables: &'static [&'static str],
    /// Text where it has no rows.
    pub none: &'static str,
    /// Seconds that its rows are of interest without new ones.
    pub lasts_s: f64,
    /// Its columns.
    pub columns: &'static [Column],
    /// The column by which rows are sorted at first, largest first; None for sessions, which are a tree.
    pub sorted_by: Option<usize>,
}

fn seconds(value: f64) -> String {
    figure::age(value)
}

fn per_s(value: f64) -> String {
    format!("{value:.3}")
}

fn number(value: f64) -> String {
    format!("{value:.0}")
}

/// The panes, in the order of their keys.
pub static PANES: &[Pane] = &[
    Pane {
        key: '1',
        title: "sessions",
        none: "No session was seen at work.",
        tables: &["db_session", "db_lock"],
        lasts_s: 0.0,
        columns: &[
            column("session", db_session::session.index(), number),
            column("blocker", db_session::blocked_by.index(), number),
            column("activity", db_session::activity.index(), number),
            column("event", db_session::wait_event.index(), number),
            column("xact", db_session::transaction_age_s.index(), seconds),
            column("stmt", db_session::statement_age_s.index(), seconds),
            column("user", db_session::user.index(), number),
            column("database", db_session::database.index(), number),
            column("application", db_session::application.index(), number),
            column("statement", db_session::digest.index(), number),
        ],
        sorted_by: None,
    },
    Pane {
        key: '2',
        title: "statements",
        none: "None: PostgreSQL needs the extension pg_stat_statements, MySQL and MariaDB performance_schema=ON; or none ran.",
        tables: &["db_statement"],
        lasts_s: 15.0,
        columns: &[
            column("s/s", db_statement::time.index(), per_s),
            column("calls/s", db_statement::calls_per_s.index(), figure::amount),
            column("ms", db_statement::mean_ms.index(), figure::milliseconds),
            column("rows/s", db_statement::rows_per_s.index(), figure::amount),
            column("hits/s", db_statement::cache_hits_per_s.index(), figure::amount),
            column("rd/s", db_statement::cache_misses_per_s.index(), figure::amount),
            column("tmp/s", db_statement::temp_bytes_per_s.index(), figure::bytes),
            column("database", db_statement::database.index(), number),
            column("user", db_statement::user.index(), number),
            column("statement", db_statement::digest.index(), number),
        ],
        sorted_by: Some(0),
    },
    Pane {
        key: '3',
        title: "waits",
        none: "No session waited.",
        tables: &["db_wait"],
        lasts_s: 0.0,
        columns: &[
            column("s/s", db_wait::time.index(), per_s),
            column("activity", db_wait::activity.index(), number),
            column("class", db_wait::wait_class.index(), number),
            column("event", db_wait::wait_event.index(), number),
            column("kind", db_wait::kind.index(), number),
            column("measured", db_wait::measured.index(), number),
        ],
        sorted_by: Some(0),
    },
    Pane {
        key: '4',
        title: "locks",
        none: "No session waits for a lock.",
        tables: &["db_lock"],
        lasts_s: 0.0,
        columns: &[
            column("waited", db_lock::waited_s.index(), seconds),
            column("waiter", db_lock::waiter.index(), number),
            column("blocker", db_lock::blocker.index(), number),
            column("root", db_lock::root.index(), number),
            column("behind", db_lock::behind.index(), number),
            column("lock", db_lock::lock.index(), number),
            column("mode", db_lock::mode.index(), number),
            column("relation", db_lock::relation.index(), number),
            column("blocker is", db_lock::blocker_state.index(), number),
            column("for", db_lock::blocker_state_age_s.index(), seconds),
            column("application", db_lock::blocker_application.index(), number),
        ],
        sorted_by: Some(0),
    },
    Pane {
        key: '5',
        title: "relations",
        none: "None was read or written, or the server does not count them.",
        tables: &["db_table"],
        lasts_s: 15.0,
        columns: &[
            column("rd/s", db_table::cache_misses_per_s.index(), figure::amount),
            column("hits/s", db_table::cache_hits_per_s.index(), figure::amount),
            column("full/s", db_table::full_scans_per_s.index(), figure::amount),
            column("index/s", db_table::index_scans_per_s.index(), figure::amount),
            column("ins/s", db_table::rows_inserted_per_s.index(), figure::amount),
            column("upd/s", db_table::rows_updated_per_s.index(), figure::amount),
            column("del/s", db_table::rows_deleted_per_s.index(), figure::amount),
            column("dead", db_table::dead_rows.index(), figure::amount),
            column("size", db_table::size_bytes.index(), figure::bytes),
            column("database", db_table::database.index(), number),
            column("relation", db_table::relation.index(), number),
        ],
        sorted_by: Some(1),
    },
    Pane {
        key: '6',
        title: "I/O",
        none: "None, or the server does not count it.",
        tables: &["db_io"],
        lasts_s: 15.0,
        columns: &[
            column("reads/s", db_io::reads_per_s.index(), figure::amount),
            column("read", db_io::read_bytes_per_s.index(), figure::bytes),
            column("writes/s", db_io::writes_per_s.index(), figure::amount),
            column("write", db_io::write_bytes_per_s.index(), figure::bytes),
            column("fsyncs/s", db_io::fsyncs_per_s.index(), figure::amount),
            column("hits/s", db_io::hits_per_s.index(), figure::amount),
            column("kind", db_io::kind.index(), number),
            column("object", db_io::object.index(), number),
            column("context", db_io::context.index(), number),
        ],
        sorted_by: Some(1),
    },
    Pane {
        key: '7',
        title: "progress",
        none: "Nothing that reports its progress is at work.",
        tables: &["db_progress"],
        lasts_s: 7.0,
        columns: &[
            column("session", db_progress::session.index(), number),
            column("command", db_progress::command.index(), number),
            column("phase", db_progress::phase.index(), number),
            column("database", db_progress::database.index(), number),
            column("relation", db_progress::relation.index(), number),
            column("done", db_progress::done.index(), figure::amount),
            column("total", db_progress::total.index(), figure::amount),
        ],
        sorted_by: Some(5),
    },
];

/// A cell: its text, and the number that it shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// As it is shown, nothing in it that a terminal would obey.
    pub text: String,
    /// Sort key; None for text.
    pub number: Option<f64>,
}

/// Filter and order of rows.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Only rows with this in one of their cells.
    pub filter: String,
    /// The column to sort by; None: as the pane has it.
    pub sort: Option<usize>,
}

/// The cells of a pane at a moment, row by row, and the activity of each row where it has one.
pub fn cells(pane: &Pane, at: usize, moment: &Moment, history: &History, choice: &Choice) -> Vec<Vec<Cell>> {
    let rows = &moment.rows[at];
    let Some(table) = table_of(rows, pane.tables[0]) else { return Vec::new() };
    let mut all: Vec<Vec<Cell>> = (0..table.n_rows())
        .map(|row| pane.columns.iter().map(|column| cell(table, row, column, history)).collect())
        .collect();
    match choice.sort.or(pane.sorted_by) {
        Some(by) => sort(&mut all, by),
        None => all = tree(all, &blockers(table, rows)),
    }
    let wanted = choice.filter.to_lowercase();
    all.retain(|cells| cells.iter().any(|cell| cell.text.to_lowercase().contains(&wanted)));
    all
}

fn table_of<'a>(rows: &'a Rows, name: &str) -> Option<&'a TableRows> {
    rows.tables().find(|table| table.table().name == name)
}

fn cell(table: &TableRows, row: usize, column: &Column, history: &History) -> Cell {
    let number = match table.table().columns[column.place].ty {
        Type::F64 => table.f64(row, column.place),
        Type::I64 => table.i64(row, column.place).map(|n| n as f64),
        _ => {
            let text = table.str(row, column.place).unwrap_or("-");
            // A digest is less readable than its statement.
            let text = if column.title == "statement" {
                history.statements.get(text).map_or(text, String::as_str)
            } else {
                text
            };
            return Cell { text: fenxi_model::visible(text).into_owned(), number: None };
        }
    };
    Cell { text: number.map_or("-".to_owned(), column.show), number }
}

/// Numbers from the largest, words in their order; what is not known is last.
fn sort(all: &mut [Vec<Cell>], by: usize) {
    all.sort_by(|a, b| match (a[by].number, b[by].number) {
        (Some(a), Some(b)) => b.total_cmp(&a),
        (Some(_), None) => std::cmp::Ordering::Less,
        (None, Some(_)) => std::cmp::Ordering::Greater,
        (None, None) => a[by].text.cmp(&b[by].text),
    });
}

/// For each session the one that it waits for.
fn blockers(sessions: &TableRows, rows: &Rows) -> Vec<(i64, i64)> {
    let own = (0..sessions.n_rows()).filter_map(|row| {
        let place = |place| sessions.i64(row, place);
        Some((place(db_session::session.index())?, place(db_session::blocked_by.index())?))
    });
    let mut pairs: Vec<_> = own.collect();
    if let Some(locks) = rows.of(&db_lock::TABLE) {
        let edges = (0..locks.n_rows())
            .filter_map(|row| Some((locks.i64(row, db_lock::waiter)?, locks.i64(row, db_lock::blocker)?)));
        for (waiter, blocker) in edges {
            if pairs.iter().all(|(known, _)| *known != waiter) {
                pairs.push((waiter, blocker));
            }
        }
    }
    pairs
}

/// The column of sessions that names the blocker.
const BLOCKER: usize = 1;

/// Sessions with those that wait for them below, set in.
fn tree(all: Vec<Vec<Cell>>, pairs: &[(i64, i64)]) -> Vec<Vec<Cell>> {
    let number = |cells: &Vec<Cell>| cells[0].number.map_or(0, |n| n as i64);
    let blocker_of = |session: i64| pairs.iter().find(|(waiter, _)| *waiter == session).map(|(_, blocker)| *blocker);
    let here: Vec<i64> = all.iter().map(number).collect();
    let mut left: Vec<Option<Vec<Cell>>> = all.into_iter().map(Some).collect();
    let mut out = Vec::new();
    // First those that others wait for, then the rest, then what is in a circle.
    let blocks = |session: &i64| pairs.iter().any(|(_, blocker)| blocker == session);
    let is_root = |session: &i64| blocker_of(*session).is_none_or(|blocker| !here.contains(&blocker));
    let rank = |session: &i64| match (is_root(session), blocks(session)) {
        (true, true) => 0,
        (true, false) => 1,
        _ => 2,
    };
    let mut order: Vec<usize> = (0..here.len()).collect();
    order.sort_by_key(|at| (rank(&here[*at]), here[*at]));
    for start in order {
        let mut open = vec![(start, 0_usize)];
        while let Some((at, depth)) = open.pop() {
            let Some(mut cells) = left[at].take() else { continue };
            if depth > 0 {
                cells[0].text = format!("{}└ {}", "  ".repeat(depth - 1), cells[0].text);
            }
            if let (Some(blocker), "-") = (blocker_of(here[at]), cells[BLOCKER].text.as_str()) {
                cells[BLOCKER].text = blocker.to_string();
            }
            out.push(cells);
            let waiters = (0..here.len()).rev().filter(|other| blocker_of(here[*other]) == Some(here[at]));
            open.extend(waiters.map(|other| (other, depth + 1)));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_of_the_tables_that_panes_name() {
        for pane in PANES {
            let table = fenxi_model::catalog::table(pane.tables[0]).unwrap();
            assert!(pane.columns.iter().all(|column| column.place < table.columns.len()), "{}", pane.title);
        }
    }

    #[test]
    fn waiters_stand_below_their_blockers_and_circles_are_not_lost() {
        let row = |n: f64| {
            let mut cells = vec![Cell { text: n.to_string(), number: Some(n) }];
            cells.resize(11, Cell { text: "-".to_owned(), number: None });
            cells
        };
        let all = vec![row(1.0), row(2.0), row(3.0), row(4.0), row(5.0), row(6.0)];
        let pairs = [(1, 4), (2, 1), (5, 6), (6, 5)];
        let texts: Vec<_> = tree(all, &pairs).into_iter().map(|cells| cells[0].text.clone()).collect();
        assert_eq!(texts, ["4", "└ 1", "  └ 2", "3", "5", "└ 6"]);
    }
}
