//! `SHOW GLOBAL STATUS`: counters of the server in one answer. Those that become columns are asked for by name: of MariaDB
//! 10.11 all of them cost three times as much.

use std::collections::BTreeSet;

use fenxi_model::{
    Micros, Place, Row, Rows,
    catalog::{db, db_checkpoint, db_wal},
    place::F64,
};
use fenxi_wire::client::ClientError;
use rustc_hash::FxHashMap;

use super::{MARK, own};
use crate::client::Client;
use crate::number::Number;

/// How a variable fills a column.
#[derive(Clone, Copy)]
enum As {
    /// Its growth per second, times a factor.
    Rate(f64),
    /// Its growth.
    Count,
    /// Its value, times a factor.
    Gauge(f64),
}

/// A column and the variables that can fill it, the preferred first.
struct Wanted<S> {
    place: Place<S, F64>,
    how: As,
    names: &'static [&'static str],
}

const fn wanted<S>(place: Place<S, F64>, how: As, names: &'static [&'static str]) -> Wanted<S> {
    Wanted { place, how, names }
}

const DB: &[Wanted<db::Schema>] = &[
    // Statements that commit by themselves are not in it; Handler_commit counts every statement within a transaction, too.
    wanted(db::commits_per_s, As::Rate(1.0), &["Com_commit"]),
    wanted(db::rollbacks_per_s, As::Rate(1.0), &["Com_rollback"]),
    wanted(db::statements_per_s, As::Rate(1.0), &["Questions"]),
    wanted(db::cache_misses_per_s, As::Rate(1.0), &["Innodb_buffer_pool_reads"]),
    wanted(db::rows_inserted_per_s, As::Rate(1.0), &["Innodb_rows_inserted", "Handler_write"]),
    wanted(db::rows_updated_per_s, As::Rate(1.0), &["Innodb_rows_updated", "Handler_update"]),
    wanted(db::rows_deleted_per_s, As::Rate(1.0), &["Innodb_rows_deleted", "Handler_delete"]),
    wanted(db::rows_returned_per_s, As::Rate(1.0), &["Innodb_rows_read", "Rows_read"]),
    wanted(db::rows_fetched_per_s, As::Rate(1.0), &["Handler_read_key"]),
    wanted(db::temp_files, As::Count, &["Created_tmp_files"]),
    wanted(db::temp_tables_per_s, As::Rate(1.0), &["Created_tmp_tables"]),
    wanted(db::temp_disk_tables_per_s, As::Rate(1.0), &["Created_tmp_disk_tables"]),
    wanted(db::deadlocks, As::Count, &["Innodb_deadlocks"]),
    wanted(db::row_lock_waits_per_s, As::Rate(1.0), &["Innodb_row_lock_waits"]),
    wanted(db::row_lock_time, As::Rate(1e-3), &["Innodb_row_lock_time"]),
    wanted(db::log_bytes_per_s, As::Rate(1.0), &["Innodb_os_log_written"]),
    wanted(db::connects_per_s, As::Rate(1.0), &["Connections"]),
    wanted(db::sessions_abandoned, As::Count, &["Aborted_clients"]),
    wanted(db::sessions_fatal, As::Count, &["Aborted_connects"]),
    wanted(db::history_length, As::Gauge(1.0), &["Innodb_history_list_length"]),
    wanted(db::sort_merge_passes_per_s, As::Rate(1.0), &["Sort_merge_passes"]),
    wanted(db::full_joins_per_s, As::Rate(1.0), &["Select_full_join"]),
    wanted(db::full_scans_per_s, As::Rate(1.0), &["Select_scan"]),
    wanted(db::slow_statements_per_s, As::Rate(1.0), &["Slow_queries"]),
    wanted(db::table_cache_misses_per_s, As::Rate(1.0), &["Table_open_cache_misses", "Opened_tables"]),
    wanted(db::table_cache_hits_per_s, As::Rate(1.0), &["Table_open_cache_hits"]),
    wanted(db::table_cache_overflows_per_s, As::Rate(1.0), &["Table_open_cache_overflows"]),
    wanted(db::threads_created_per_s, As::Rate(1.0), &["Threads_created"]),
    wanted(db::received_bytes_per_s, As::Rate(1.0), &["Bytes_received"]),
    wanted(db::sent_bytes_per_s, As::Rate(1.0), &["Bytes_sent"]),
    wanted(db::binlog_bytes_per_s, As::Rate(1.0), &["Binlog_bytes_written"]),
    wanted(db::statements_lost, As::Count, &["Performance_schema_digest_lost"]),
];

const WAL: &[Wanted<db_wal::Schema>] = &[
    wanted(db_wal::records_per_s, As::Rate(1.0), &["Innodb_log_write_requests"]),
    wanted(db_wal::wal_bytes_per_s, As::Rate(1.0), &["Innodb_os_log_written"]),
    wanted(db_wal::writes_per_s, As::Rate(1.0), &["Innodb_log_writes"]),
    wanted(db_wal::syncs_per_s, As::Rate(1.0), &["Innodb_os_log_fsyncs"]),
    wanted(db_wal::buffers_full_per_s, As::Rate(1.0), &["Innodb_log_waits"]),
];

const CHECKPOINT: &[Wanted<db_checkpoint::Schema>] = &[
    wanted(db_checkpoint::redo_bytes, As::Gauge(1.0), &["Innodb_checkpoint_age"]),
    wanted(db_checkpoint::redo_limit_bytes, As::Gauge(1.0), &["Innodb_checkpoint_max_age"]),
    wanted(db_checkpoint::dirty_bytes, As::Gauge(1.0), &["Innodb_buffer_pool_bytes_dirty"]),
    wanted(db_checkpoint::cleaner_buffers_per_s, As::Rate(1.0), &["Innodb_buffer_pool_pages_flushed"]),
    wanted(db_checkpoint::free_waits, As::Count, &["Innodb_buffer_pool_wait_free"]),
];

/// Counters that begin anew with FLUSH STATUS, by one that always grows: a lower value means a reset.
const ALWAYS_GROW: &[&str] = &["Questions", "Bytes_sent"];

/// How far two times of one answer may be apart, which are whole seconds of one clock.
const SLACK_S: f64 = 0.5;

/// Variables that are asked for by themselves.
const FURTHER: &[&str] = &[
    "Binlog_commits",
    "Binlog_group_commits",
    "Com_stmt_execute",
    "Innodb_buffer_pool_read_requests",
    "Sort_range",
    "Sort_scan",
    "Threads_connected",
    "Threads_running",
    "Uptime",
    "Uptime_since_flush_status",
];

/// Names of all variables that are read.
fn names() -> impl Iterator<Item = &'static str> {
    fn of<S>(wanted: &'static [Wanted<S>]) -> impl Iterator<Item = &'static str> {
        wanted.iter().flat_map(|wanted| wanted.names.iter().copied())
    }
    of(DB).chain(of(WAL)).chain(of(CHECKPOINT)).chain(ALWAYS_GROW.iter().chain(FURTHER).copied())
}

/// Variables of the server, now and at the last reading.
#[derive(Default)]
pub struct Status {
    /// The statement.
    sql: String,
    now: FxHashMap<String, Number>,
    last: FxHashMap<String, Number>,
    /// Amounts that our own sessions add to counters in an interval.
    own: FxHashMap<String, f64>,
    /// How far our own count of our statements may be from the server's of the same moment.
    under_way: UnderWay,
    /// Statements of ours that the server had not counted at the last reading, as far as that is known; negative where it had counted
    /// more than were answered.
    late: Option<f64>,
    /// No one but our own sessions was seen at work in it.
    is_quiet: bool,
}

/// Statements of ours that were under way while the server was read: it counts a statement as it begins, and we as it is answered.
#[derive(Clone, Copy, Debug, Default)]
pub struct UnderWay {
    /// At most so many were counted and not yet answered: one of each other session of ours.
    pub unanswered: f64,
    /// So many were answered while the server was read, without the one that reads it: it may have read before.
    pub meanwhile: f64,
}

impl Status {
    /// Reads the variables.
    ///
    /// # Errors
    /// When the server refuses, or the connection is lost.
    pub fn read(&mut self, client: &mut Client) -> Result<(), ClientError> {
        self.last = std::mem::take(&mut self.now);
        if self.sql.is_empty() {
            let names: BTreeSet<_> = names().collect();
            let list: Vec<_> = names.into_iter().map(|name| format!("'{name}'")).collect();
            self.sql = format!("{MARK} SHOW GLOBAL STATUS WHERE Variable_name IN ({})", list.join(", "));
        }
        let now = &mut self.now;
        client.each(&self.sql, &mut |row| {
            let (Some(name), Some(value)) = (row.text(0), row.text(1)) else { return };
            if let Some(number) = Number::read(value) {
                now.insert(name.to_owned(), number);
            }
        })?;
        Ok(())
    }

    /// Forgets the last reading: it was of another server process.
    pub fn forget_last(&mut self) {
        self.last.clear();
    }

    /// Sets which statements of ours were under way at this reading.
    pub fn set_under_way(&mut self, under_way: UnderWay) {
        self.under_way = under_way;
        // Work of others before the first reading is not known: as much as can be was ours.
        self.late.get_or_insert(under_way.meanwhile);
    }

    /// Sets the work of our own sessions, to subtract from the next reported interval. Of statements others have what can be no one
    /// else's, over all intervals: a difference that may be of one under way is none.
    pub fn leave_out(&mut self, mut own: FxHashMap<String, f64>, is_quiet: bool) {
        let late = self.late.take();
        let UnderWay { unanswered, meanwhile } = self.under_way;
        if let (Some(sent), Some(counted), Some(late)) =
            (own.get_mut(own::STATEMENTS), self.grown(own::STATEMENTS), late)
        {
            let all_ours = late + *sent - counted;
            let now = all_ours.clamp(-unanswered, meanwhile);
            *sent = counted - (now - all_ours).max(0.0);
            self.late = Some(now);
        } else {
            self.late = Some(meanwhile);
        }
        (self.own, self.is_quiet) = (own, is_quiet);
    }

    /// The value of a variable.
    pub fn value(&self, name: &str) -> Option<f64> {
        debug_assert!(names().any(|asked| asked == name), "{name} is not asked for");
        self.now.get(name).map(|number| number.as_f64())
    }

    /// The growth of a counter since the last reading; None when it went back, or all of them did.
    pub fn grown(&self, name: &str) -> Option<f64> {
        debug_assert!(names().any(|asked| asked == name), "{name} is not asked for");
        self.now.get(name)?.since(*self.last.get(name)?)
    }

    /// Returns true if counters were reset (FLUSH STATUS).
    pub fn was_reset(&self) -> bool {
        self.was_flushed() || ALWAYS_GROW.iter().any(|name| self.went_back(name))
    }

    /// Whether the time since the last FLUSH STATUS grew by less than the server's own: also when it is longer than it was.
    fn was_flushed(&self) -> bool {
        let grown = |name| Some(self.now.get(name)?.as_f64() - self.last.get(name)?.as_f64());
        grown("Uptime_since_flush_status").zip(grown("Uptime")).is_some_and(|(flushed, up)| flushed < up - SLACK_S)
    }

    /// Forgets the last reading of what FLUSH STATUS sets back; the storage engine's own counters go on.
    pub fn forget_flushed(&mut self) {
        if self.was_flushed() {
            self.last.retain(|name, _| name.starts_with("Innodb_"));
        }
    }

    fn grown_without_own(&self, name: &str) -> Option<f64> {
        let rest = |name: &str| self.grown(name).map(|grown| (grown - self.own.get(name).unwrap_or(&0.0)).max(0.0));
        // Our statements are counted exactly but for one that was under way, what they add to other counters is not: where there were no
        // others it was ours.
        if own::OF_STATEMENTS.contains(&name)
            && self.is_quiet
            && rest(own::STATEMENTS).is_some_and(|others| others <= 1.0)
        {
            return self.grown(name).map(|_| 0.0);
        }
        rest(name)
    }

    fn went_back(&self, name: &str) -> bool {
        self.now.get(name).zip(self.last.get(name)).is_some_and(|(now, last)| now.since(*last).is_none())
    }

    fn fill<S>(&self, wanted: &[Wanted<S>], dt: f64, row: &mut Row<'_, S>) {
        for Wanted { place, how, names } in wanted {
            let Some(name) = names.iter().find(|name| self.now.contains_key(**name)) else { continue };
            let value = match how {
                As::Rate(factor) => self.grown_without_own(name).map(|grown| grown * factor / dt),
                As::Count => self.grown_without_own(name),
                As::Gauge(factor) => self.value(name).map(|value| value * factor),
            };
            row.f64(*place, value);
        }
    }

    /// Sets the columns of the server's own row.
    pub fn fill_server(&self, dt: f64, row: &mut Row<'_, db::Schema>) {
        self.fill(DB, dt, row);
        let requests = self.grown("Innodb_buffer_pool_read_requests");
        let hits =
            requests.zip(self.grown("Innodb_buffer_pool_reads")).map(|(all, misses)| (all - misses).max(0.0) / dt);
        let sorts = self.grown("Sort_scan").zip(self.grown("Sort_range"));
        row.f64(db::cache_hits_per_s, hits).f64(db::sorts_per_s, sorts.map(|(scans, ranges)| (scans + ranges) / dt));
    }

    /// Adds rows for the log and for checkpoints.
    pub fn tell(&self, server: &str, t: Micros, dt: f64, rows: &mut Rows) {
        let groups = self.grown("Binlog_group_commits").filter(|groups| *groups > 0.0);
        let per_sync = self.grown("Binlog_commits").zip(groups).map(|(commits, groups)| commits / groups);
        let mut row = rows.row(&db_wal::TABLE, t, dt);
        row.str(db_wal::server, server).f64(db_wal::commits_per_sync, per_sync);
        self.fill(WAL, dt, &mut row);
        let mut row = rows.row(&db_checkpoint::TABLE, t, dt);
        row.str(db_checkpoint::server, server);
        self.fill(CHECKPOINT, dt, &mut row);
    }
}
