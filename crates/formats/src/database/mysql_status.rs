//! `SHOW GLOBAL STATUS` of MySQL and MariaDB, as the client prints it and as `mysqladmin
//! extended-status` repeats it; and `SHOW VARIABLES`, which looks the same.
//!
//! Counters become rates over the growth of `Uptime`. With `--relative` all tables but the first
//! print differences, of gauges too: they are added up again. Names that begin with a small letter
//! are settings. The first table's counters are averages since the server's start.

use fenxi_model::{
    Kind, Micros, Table,
    catalog::{db, db_checkpoint, db_setting, db_wal},
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    Family, Format, Head, Input, Out, Relative, Sure,
    generic::sheet::{Goal, goals},
    number,
};

/// Tables that the variables of one moment fill, a row each.
const TABLES: [&Table; 3] = [&db::TABLE, &db_wal::TABLE, &db_checkpoint::TABLE];

/// Importer for mysqladmin extended-status [-i N] [-r], SHOW GLOBAL STATUS and SHOW VARIABLES of MySQL.
pub static FORMAT: Format = Format {
    name: "mysql-status",
    summary: "mysqladmin extended-status [-i N] [-r], SHOW GLOBAL STATUS and SHOW VARIABLES of MySQL",
    family: Family::Database,
    tables: &[&db::TABLE, &db_wal::TABLE, &db_checkpoint::TABLE, &db_setting::TABLE],
    example: "\
+-------------------+-------+
| Variable_name     | Value |
+-------------------+-------+
| Questions         | 1200  |
| Uptime            | 600   |
+-------------------+-------+
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    Sure::Certain.when(head.any(|line| matches!(entry(line), Some(Entry::Header) | Some(Entry::Name(_)))))
}

/// Content of a line.
enum Entry<'a> {
    Header,
    Pair(&'a str, &'a str),
    /// The first half of a pair, and the second, of the vertical form.
    Name(&'a str),
    Value(&'a str),
    Decoration,
}

fn entry(line: &str) -> Option<Entry<'_>> {
    let line = line.trim_end();
    let text = line.trim_start();
    if let Some(inner) = text.strip_prefix('|') {
        let (name, value) = inner.strip_suffix('|')?.split_once('|')?;
        return Some(pair(name.trim(), value.trim()));
    }
    if let Some(name) = text.strip_prefix("Variable_name: ") {
        return Some(Entry::Name(name.trim()));
    }
    if let Some(value) = text.strip_prefix("Value:") {
        return Some(Entry::Value(value.trim()));
    }
    if text.is_empty() || text.starts_with("+-") || text.starts_with("***") || text.contains(" in set") {
        return Some(Entry::Decoration);
    }
    let (name, value) = line.split_once('\t')?;
    Some(pair(name.trim(), value.trim()))
}

fn pair<'a>(name: &'a str, value: &'a str) -> Entry<'a> {
    if name.eq_ignore_ascii_case("Variable_name") && value.eq_ignore_ascii_case("Value") {
        return Entry::Header;
    }
    Entry::Pair(name, value)
}

/// Variables that newer MariaDB has no more, and those that are as good.
const INSTEAD: &[(&str, &str)] = &[
    ("Innodb_rows_read", "Rows_read"),
    ("Innodb_rows_inserted", "Handler_write"),
    ("Innodb_rows_updated", "Handler_update"),
    ("Innodb_rows_deleted", "Handler_delete"),
];

/// Variables that are no counters, by how they begin, how they end, or what is in them.
const GAUGE_BEGINS: &[&str] = &[
    "Threads_c",
    "Threads_r",
    "Open_",
    "Max_",
    "Uptime",
    "Qcache_free",
    "Qcache_queries_in",
    "Qcache_total",
    "Key_blocks_",
    "Innodb_page_size",
    "Innodb_num_",
    "Innodb_history",
    "Innodb_checkpoint",
    "Innodb_mem_",
    "Innodb_buffer_pool_pages_data",
    "Innodb_buffer_pool_pages_dirty",
    "Innodb_buffer_pool_pages_free",
    "Innodb_buffer_pool_pages_misc",
    "Innodb_buffer_pool_pages_old",
    "Innodb_buffer_pool_pages_total",
    "Innodb_buffer_pool_bytes",
    "Innodb_undo_tablespaces",
    "Innodb_available",
    "Last_query",
    "Prepared_stmt_count",
    "wsrep_",
    "Rpl_",
    "Memory_used",
    "Slave_open",
    "Replica_open",
    "Tc_log",
    "Delayed_insert_threads",
    "Ssl_ctx",
    "Ssl_session",
    "Performance_schema",
    "Threadpool_",
    "Mysqlx_worker",
    "Binlog_snapshot",
    "Binlog_gtid_index",
];
const GAUGE_ENDS: &[&str] = &["_size", "_avg", "_max", "_length", "_current", "_ratio", "_count_now", "_utilization"];
const GAUGE_WORDS: &[&str] = &["_pending_", "_current_", "_per_index_avg", "_lsn_", "_mem_"];

fn is_gauge(name: &str) -> bool {
    GAUGE_BEGINS.iter().any(|begin| name.starts_with(begin))
        || GAUGE_ENDS.iter().any(|end| name.ends_with(end))
        || GAUGE_WORDS.iter().any(|word| name.contains(word))
}

/// Variables of one table; a server has some hundreds.
const MAX_VARIABLES: usize = 1 << 14;

#[derive(Default)]
struct Reader {
    /// The table being read: its variables in their order.
    table: Vec<(String, f64)>,
    /// The values of the table before.
    last: FxHashMap<String, f64>,
    tables: u32,
    relative: bool,
    clock: Option<Relative>,
    elapsed_s: f64,
    name: String,
    /// Whether words were kept as facts: once is enough.
    told: bool,
    /// Names that were looked up.
    known: FxHashSet<String>,
    /// Columns and the variables that fill them.
    goals: Vec<(Goal, String)>,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader::default();
    while input.line().is_some() {
        let (line_number, line) = (input.number(), input.text());
        match entry(line) {
            Some(Entry::Header) => reader.end_table(out),
            Some(Entry::Pair(name, value)) => reader.variable(name, value, out),
            Some(Entry::Name(name)) => {
                // The vertical form has no header between tables: the first name comes again.
                if reader.table.first().is_some_and(|(first, _)| first == name) {
                    reader.end_table(out);
                }
                name.clone_into(&mut reader.name);
            }
            Some(Entry::Value(value)) => {
                let name = std::mem::take(&mut reader.name);
                reader.variable(&name, value, out);
            }
            Some(Entry::Decoration) => {}
            None => out.unknown(line_number, line, "no variable and value"),
        }
    }
    reader.end_table(out);
}

impl Reader {
    fn variable(&mut self, name: &str, value: &str, out: &mut Out<'_>) {
        if name.is_empty() {
            return;
        }
        if name.starts_with(|c: char| c.is_ascii_lowercase()) && !name.starts_with("wsrep_") {
            let mut row = out.row(&db_setting::TABLE, None, None);
            row.str(db_setting::name, name).text(db_setting::value, value);
            return;
        }
        match number(value) {
            Some(value) if self.table.len() < MAX_VARIABLES => self.table.push((name.to_owned(), value)),
            Some(_) => {}
            None if self.told || value.is_empty() => {}
            None => out.fact("mysql status", name, value),
        }
    }

    fn end_table(&mut self, out: &mut Out<'_>) {
        let mut table = std::mem::take(&mut self.table);
        if table.is_empty() {
            return;
        }
        self.told = true;
        let uptime = |table: &[(String, f64)]| table.iter().find(|(name, _)| name == "Uptime").map(|(_, value)| *value);
        let before = self.last.get("Uptime").copied();
        if self.tables == 1 {
            self.relative = uptime(&table).zip(before).is_some_and(|(now, before)| now < before);
        }
        if self.relative {
            for (name, value) in &mut table {
                *value += self.last.get(name).copied().unwrap_or(0.0);
            }
        }
        let first = self.tables == 0;
        let grown = if first { uptime(&table) } else { uptime(&table).zip(before).map(|(now, before)| now - before) };
        let told = out.hints().interval_s.filter(|_| !first);
        // An interval of less than a second need not show in whole seconds.
        let dt = told.or(grown.filter(|dt| *dt > 0.0));
        if !first {
            self.elapsed_s += dt.unwrap_or(1.0);
        }
        let t = self.clock.get_or_insert_with(|| Relative::elapsed(out)).after(self.elapsed_s);
        self.look_up(&table);
        self.write(&table, (t, dt), first, out);
        self.last.clear();
        self.last.extend(table);
        self.tables = self.tables.saturating_add(1);
    }

    /// Looks up where the variables go that have a column, by the shipped mapping: a file of values has the same names.
    fn look_up(&mut self, table: &[(String, f64)]) {
        for (name, _) in table {
            if !self.known.contains(name) {
                self.known.insert(name.clone());
                let has = |name: &str| table.iter().any(|(known, _)| known == name);
                let stands_in = INSTEAD.iter().find(|(of, other)| other == name && !has(of));
                let called = stands_in.map_or(name.as_str(), |(of, _)| of);
                self.goals.extend(goals("mysql-status", called).into_iter().map(|goal| (goal, name.clone())));
            }
        }
    }

    fn write(&self, table: &[(String, f64)], (t, dt): (Micros, Option<f64>), first: bool, out: &mut Out<'_>) {
        // Growth of a counter; from the server's start for the first table, nothing after a restart.
        let growth = |name: &str, value: f64| {
            let before = if first { 0.0 } else { *self.last.get(name)? };
            (value >= before).then_some(value - before)
        };
        let find = |name: &str| table.iter().find(|(n, _)| n == name).map(|(_, value)| *value);
        let rate = |name: &str| Some(growth(name, find(name)?)? / dt?);
        out.since_boot(first);
        for of in TABLES {
            let goals = self.goals.iter().filter(|(goal, _)| goal.table.id == of.id);
            if of.id != db::TABLE.id && goals.clone().next().is_none() {
                continue;
            }
            let mut row = out.row(of, t, dt);
            // Gauges of the first table have a row without an interval.
            for (goal, name) in goals.filter(|(goal, _)| goal.grows || !first) {
                let value = match (goal.grows, of.columns[goal.column].kind) {
                    (false, _) => find(name),
                    (true, Kind::Count) => find(name).and_then(|value| growth(name, value)),
                    (true, _) => rate(name),
                };
                row.f64(goal.column, value.map(|value| value * goal.scale));
            }
            if of.id == db::TABLE.id {
                let (asked, missed) = (rate("Innodb_buffer_pool_read_requests"), rate("Innodb_buffer_pool_reads"));
                row.f64(
                    db::cache_hits_per_s.index(),
                    asked.zip(missed).map(|(asked, missed)| (asked - missed).max(0.0)),
                );
            }
        }
        for (name, value) in table.iter().filter(|(name, _)| !is_gauge(name)) {
            let rate = growth(name, *value).zip(dt).map(|(growth, dt)| growth / dt);
            out.metric(t, dt, &format!("mysql.{name}_per_s"), "", rate, "/s");
        }
        out.since_boot(false);
        if first {
            let mut row = out.row(&db::TABLE, t, None);
            row.f64(db::sessions, find("Threads_connected")).f64(db::active_sessions, find("Threads_running"));
        }
        let dt = dt.filter(|_| !first);
        for (name, value) in table.iter().filter(|(name, _)| is_gauge(name)) {
            out.metric(t, dt, &format!("mysql.{name}"), "", *value, "");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::read;

    #[test]
    fn a_restart_gives_no_rates() {
        let table =
            |uptime: u32, questions: u32| format!("Variable_name\tValue\nQuestions\t{questions}\nUptime\t{uptime}\n");
        // Three tables first: the second shows that the values are not differences.
        let text = [table(100, 1000), table(110, 1100), table(5, 20)].concat();
        let text = read(&FORMAT, text.as_bytes()).text;
        assert!(text.contains("mysql.Questions_per_s\t10\t/s"), "{text}");
        assert!(text.contains("mysql.Questions_per_s\t\t/s"), "{text}");
    }

    #[test]
    fn what_a_file_of_values_fills_is_filled_from_here_too() {
        let table = |uptime: u32, waits: u32, time: u32, current: u32| {
            format!(
                "Variable_name\tValue\nInnodb_row_lock_waits\t{waits}\nInnodb_row_lock_time\t{time}\nInnodb_row_lock_current_waits\t{current}\n\
                 Innodb_os_log_fsyncs\t{waits}\nInnodb_deadlocks\t{current}\nUptime\t{uptime}\n"
            )
        };
        let text = [table(100, 10, 1000, 0), table(110, 110, 31_000, 5)].concat();
        let text = read(&FORMAT, text.as_bytes()).text;
        let lines: Vec<&str> = text.lines().skip_while(|line| *line != "# db").skip(1).collect();
        let at =
            |name: &str| lines[0].split('\t').position(|cell| cell == name).unwrap_or_else(|| panic!("{name}\n{text}"));
        let last: Vec<&str> =
            lines.iter().take_while(|line| !line.starts_with('#')).last().unwrap().split('\t').collect();
        let of = |name: &str| last[at(name)];
        assert_eq!((of("row_lock_waits_per_s"), of("row_lock_time"), of("waiting_sessions")), ("10", "3", "5"));
        assert_eq!(of("deadlocks"), "5");
        assert!(text.contains("# db_wal"), "{text}");
    }
}
