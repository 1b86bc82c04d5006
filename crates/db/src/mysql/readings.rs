//! Views of MySQL's and MariaDB's own statistics, as data. Timers of the performance schema are picoseconds.

use fenxi_model::catalog::{db_index, db_io, db_pool, db_table};

use super::PERFORMANCE_SCHEMA;
use crate::reading::{
    AnyReading,
    Fill::{Gauge, Rate, Word},
    From::{Name, Sql},
    Reading, Rules, column,
};

/// Picoseconds to seconds.
const PS: f64 = 1e-12;

/// All of them. None has a limit: what left a list and came back would count as new, with all that it shows.
pub static READINGS: &[&dyn AnyReading] =
    &[&TABLES, &TABLES_OF_USERSTAT, &INDEXES, &INDEXES_OF_USERSTAT, &FILES, &THREAD_POOL];

static TABLES: Reading<db_table::Schema> = Reading {
    name: "tables",
    view: "performance_schema.table_io_waits_summary_by_table",
    rules: Rules { needs: Some(PERFORMANCE_SCHEMA), counts_new: true, movers_only: true, ..Rules::PLAIN },
    at_end: None,
    from: "performance_schema.table_io_waits_summary_by_table WHERE OBJECT_TYPE = 'TABLE' AND COUNT_STAR > 0",
    key: "concat(OBJECT_SCHEMA, '.', OBJECT_NAME)",
    every_s: 10,
    table: &db_table::TABLE,
    server: db_table::server,
    columns: &[
        column(&[Name("OBJECT_SCHEMA")], Word(db_table::database)),
        column(
            &[Sql("concat(OBJECT_SCHEMA, '.', OBJECT_NAME)", &["OBJECT_SCHEMA", "OBJECT_NAME"])],
            Word(db_table::relation),
        ),
        column(&[Name("COUNT_INSERT")], Rate(db_table::rows_inserted_per_s, 1.0)),
        column(&[Name("COUNT_UPDATE")], Rate(db_table::rows_updated_per_s, 1.0)),
        column(&[Name("COUNT_DELETE")], Rate(db_table::rows_deleted_per_s, 1.0)),
        column(&[Name("SUM_TIMER_READ")], Rate(db_table::read_time, PS)),
        column(&[Name("SUM_TIMER_WRITE")], Rate(db_table::write_time, PS)),
    ],
};

/// MariaDB's own statistics (`userstat`), where the performance schema is off. Up to 11.4 it knows rows read and changed
/// by whatever means only, which is no column of ours.
static TABLES_OF_USERSTAT: Reading<db_table::Schema> = Reading {
    name: "tables of userstat",
    view: "information_schema.TABLE_STATISTICS",
    rules: Rules {
        unless: Some("performance_schema.table_io_waits_summary_by_table"),
        needs: Some("userstat"),
        counts_new: true,
        movers_only: true,
        ..Rules::PLAIN
    },
    at_end: None,
    from: "information_schema.TABLE_STATISTICS",
    key: "concat(TABLE_SCHEMA, '.', TABLE_NAME)",
    every_s: 10,
    table: &db_table::TABLE,
    server: db_table::server,
    columns: &[
        column(&[Sql("TABLE_SCHEMA", &["TABLE_SCHEMA", "ROWS_INSERTED"])], Word(db_table::database)),
        column(
            &[Sql("concat(TABLE_SCHEMA, '.', TABLE_NAME)", &["TABLE_SCHEMA", "TABLE_NAME", "ROWS_INSERTED"])],
            Word(db_table::relation),
        ),
        column(&[Name("ROWS_INSERTED")], Rate(db_table::rows_inserted_per_s, 1.0)),
        column(&[Name("ROWS_UPDATED")], Rate(db_table::rows_updated_per_s, 1.0)),
        column(&[Name("ROWS_DELETED")], Rate(db_table::rows_deleted_per_s, 1.0)),
    ],
};

static INDEXES: Reading<db_index::Schema> = Reading {
    name: "indexes",
    view: "performance_schema.table_io_waits_summary_by_index_usage",
    rules: Rules { needs: Some(PERFORMANCE_SCHEMA), counts_new: true, movers_only: true, ..Rules::PLAIN },
    at_end: None,
    from: "performance_schema.table_io_waits_summary_by_index_usage WHERE INDEX_NAME IS NOT NULL \
           AND OBJECT_SCHEMA NOT IN ('mysql', 'performance_schema', 'sys')",
    key: "concat(OBJECT_SCHEMA, '.', OBJECT_NAME, '/', INDEX_NAME)",
    every_s: 60,
    table: &db_index::TABLE,
    server: db_index::server,
    columns: &[
        column(&[Name("OBJECT_SCHEMA")], Word(db_index::database)),
        column(
            &[Sql("concat(OBJECT_SCHEMA, '.', OBJECT_NAME)", &["OBJECT_SCHEMA", "OBJECT_NAME"])],
            Word(db_index::relation),
        ),
        column(&[Name("INDEX_NAME")], Word(db_index::index_name)),
        column(&[Name("COUNT_FETCH")], Rate(db_index::entries_read_per_s, 1.0)),
    ],
};

/// As [`TABLES_OF_USERSTAT`], of indexes.
static INDEXES_OF_USERSTAT: Reading<db_index::Schema> = Reading {
    name: "indexes of userstat",
    view: "information_schema.INDEX_STATISTICS",
    rules: Rules {
        unless: Some("performance_schema.table_io_waits_summary_by_index_usage"),
        needs: Some("userstat"),
        counts_new: true,
        movers_only: true,
        ..Rules::PLAIN
    },
    at_end: None,
    from: "information_schema.INDEX_STATISTICS",
    key: "concat(TABLE_SCHEMA, '.', TABLE_NAME, '/', INDEX_NAME)",
    every_s: 60,
    table: &db_index::TABLE,
    server: db_index::server,
    columns: &[
        column(&[Name("TABLE_SCHEMA")], Word(db_index::database)),
        column(
            &[Sql("concat(TABLE_SCHEMA, '.', TABLE_NAME)", &["TABLE_SCHEMA", "TABLE_NAME"])],
            Word(db_index::relation),
        ),
        column(&[Name("INDEX_NAME")], Word(db_index::index_name)),
        column(&[Name("ROWS_READ")], Rate(db_index::entries_read_per_s, 1.0)),
        column(&[Name("QUERIES")], Rate(db_index::scans_per_s, 1.0)),
    ],
};

/// MariaDB 10.11 takes from a kind what a file of it had counted, once the file is removed.
static FILES: Reading<db_io::Schema> = Reading {
    name: "file I/O",
    view: "performance_schema.file_summary_by_event_name",
    rules: Rules {
        needs: Some(PERFORMANCE_SCHEMA),
        counts_new: true,
        movers_only: true,
        forgets: true,
        ..Rules::PLAIN
    },
    at_end: None,
    from: "performance_schema.file_summary_by_event_name WHERE COUNT_STAR > 0",
    key: "EVENT_NAME",
    every_s: 10,
    table: &db_io::TABLE,
    server: db_io::server,
    columns: &[
        column(&[Sql("substring(EVENT_NAME, 14)", &["EVENT_NAME"])], Word(db_io::object)),
        column(&[Name("COUNT_READ")], Rate(db_io::reads_per_s, 1.0)),
        column(&[Name("SUM_NUMBER_OF_BYTES_READ")], Rate(db_io::read_bytes_per_s, 1.0)),
        column(&[Name("SUM_TIMER_READ")], Rate(db_io::read_time, PS)),
        column(&[Name("COUNT_WRITE")], Rate(db_io::writes_per_s, 1.0)),
        column(&[Name("SUM_NUMBER_OF_BYTES_WRITE")], Rate(db_io::write_bytes_per_s, 1.0)),
        column(&[Name("SUM_TIMER_WRITE")], Rate(db_io::write_time, PS)),
    ],
};

/// The thread pool of MariaDB, in the columns of a pooler: its queue at a moment is the time that clients wait in it, per second. Without
/// a pool it has no groups. Our own session is one of its active threads, and in no queue when this is answered: where one
/// thread runs at a time, it is ours.
static THREAD_POOL: Reading<db_pool::Schema> = Reading {
    name: "thread pool",
    view: "information_schema.THREAD_POOL_GROUPS",
    rules: Rules::PLAIN,
    at_end: None,
    from: "(SELECT sum(QUEUE_LENGTH) AS waiting, greatest(sum(ACTIVE_THREADS) - 1, 0) AS active, \
           (SELECT max(QUEUEING_TIME_MICROSECONDS) FROM information_schema.THREAD_POOL_QUEUES) AS longest \
           FROM information_schema.THREAD_POOL_GROUPS HAVING count(*) > 0) pool",
    key: "'thread pool'",
    every_s: 1,
    table: &db_pool::TABLE,
    server: db_pool::server,
    columns: &[
        column(&[Sql("'thread pool'", &["QUEUE_LENGTH"])], Word(db_pool::database)),
        column(&[Sql("'statement'", &["QUEUE_LENGTH"])], Word(db_pool::mode)),
        column(&[Sql("waiting", &["QUEUE_LENGTH"])], Gauge(db_pool::clients_waiting, 1.0)),
        column(&[Sql("waiting", &["QUEUE_LENGTH"])], Gauge(db_pool::wait_time, 1.0)),
        column(&[Sql("active", &["ACTIVE_THREADS"])], Gauge(db_pool::servers_active, 1.0)),
        column(&[Sql("@@thread_pool_size", &["QUEUE_LENGTH"])], Gauge(db_pool::size_limit, 1.0)),
        column(&[Sql("coalesce(longest, 0)", &["QUEUE_LENGTH"])], Gauge(db_pool::first_wait_s, 1e-6)),
    ],
};
