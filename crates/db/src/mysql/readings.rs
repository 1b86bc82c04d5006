//! Views of MySQL's and MariaDB's own statistics, as data. Timers of the performance schema are picoseconds.

use fenxi_model::catalog::{db_index, db_io, db_statement, db_table};

use crate::reading::{
    AnyReading,
    Fill::{Count, Rate, Statement, Word},
    From::{Name, Sql},
    Reading, column,
};

/// Picoseconds to seconds.
const PS: f64 = 1e-12;
const PERFORMANCE_SCHEMA: &str = "performance_schema";

/// All of them. None has a limit: what left a list and came back would count as new, with all that it shows.
pub static READINGS: &[&dyn AnyReading] = &[&STATEMENTS, &TABLES, &INDEXES, &FILES];

static STATEMENTS: Reading<db_statement::Schema> = Reading {
    name: "statements",
    view: "performance_schema.events_statements_summary_by_digest",
    unless: None,
    needs: Some(PERFORMANCE_SCHEMA),
    only_with: None,
    counts_new: true,
    movers_only: true,
    from: "performance_schema.events_statements_summary_by_digest WHERE COUNT_STAR > 0",
    key: "concat(coalesce(SCHEMA_NAME, ''), '/', coalesce(DIGEST, ''))",
    every_s: 10,
    table: &db_statement::TABLE,
    server: db_statement::server,
    columns: &[
        column(&[Name("SCHEMA_NAME")], Word(db_statement::database)),
        column(&[Name("DIGEST")], Word(db_statement::query_id)),
        column(
            &[Sql("coalesce(LEFT(DIGEST_TEXT, 4096), '(others)')", &["DIGEST_TEXT"])],
            Statement(db_statement::statement, db_statement::digest),
        ),
        column(&[Name("COUNT_STAR")], Rate(db_statement::calls_per_s, 1.0)),
        column(&[Name("SUM_TIMER_WAIT")], Rate(db_statement::time, PS)),
        column(&[Name("SUM_LOCK_TIME")], Rate(db_statement::lock_time, PS)),
        column(&[Name("SUM_CPU_TIME")], Rate(db_statement::cpu, PS)),
        column(&[Name("SUM_ERRORS")], Count(db_statement::errors)),
        column(
            &[Sql("SUM_ROWS_SENT + SUM_ROWS_AFFECTED", &["SUM_ROWS_SENT", "SUM_ROWS_AFFECTED"])],
            Rate(db_statement::rows_per_s, 1.0),
        ),
        column(&[Name("SUM_ROWS_EXAMINED")], Rate(db_statement::rows_examined_per_s, 1.0)),
        column(&[Name("SUM_CREATED_TMP_TABLES")], Rate(db_statement::temp_tables_per_s, 1.0)),
        column(&[Name("SUM_CREATED_TMP_DISK_TABLES")], Rate(db_statement::temp_disk_tables_per_s, 1.0)),
        column(&[Name("SUM_SORT_MERGE_PASSES")], Rate(db_statement::sort_merge_passes_per_s, 1.0)),
        column(&[Name("SUM_SELECT_SCAN")], Rate(db_statement::full_scans_per_s, 1.0)),
        column(&[Name("SUM_NO_INDEX_USED")], Rate(db_statement::no_index_per_s, 1.0)),
    ],
};

static TABLES: Reading<db_table::Schema> = Reading {
    name: "tables",
    view: "performance_schema.table_io_waits_summary_by_table",
    unless: None,
    needs: Some(PERFORMANCE_SCHEMA),
    only_with: None,
    counts_new: true,
    movers_only: true,
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

static INDEXES: Reading<db_index::Schema> = Reading {
    name: "indexes",
    view: "performance_schema.table_io_waits_summary_by_index_usage",
    unless: None,
    needs: Some(PERFORMANCE_SCHEMA),
    only_with: None,
    counts_new: true,
    movers_only: true,
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

static FILES: Reading<db_io::Schema> = Reading {
    name: "file I/O",
    view: "performance_schema.file_summary_by_event_name",
    unless: None,
    needs: Some(PERFORMANCE_SCHEMA),
    only_with: None,
    counts_new: true,
    movers_only: true,
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
