//! Readings of PostgreSQL's own statistics, as data. Counters of time are milliseconds.

use fenxi_model::catalog::{db, db_checkpoint, db_io, db_progress, db_replication, db_wal};

use crate::reading::{
    AnyReading, Column,
    Fill::{Count, Gauge, Id, Rate, Word, YesNo},
    From::{Name, Sql},
    Reading, Rules, column, needing,
};

/// Milliseconds to seconds.
const MS: f64 = 1e-3;
const IO_TIMED: &str = "track_io_timing";
const WAL_TIMED: &str = "track_wal_io_timing";

/// Readings with their own rows; [`DATABASES`] also has a row of all of them.
pub static READINGS: &[&dyn AnyReading] = &[
    &WAL,
    &CHECKPOINT,
    &CHECKPOINT_17,
    &IO,
    &REPLICAS,
    &RECEIVER,
    &SLOTS,
    &VACUUM,
    &INDEX_BUILD,
    &ANALYZE,
    &COPY,
    &CLUSTER,
    &BASE_BACKUP,
];

/// Databases, each second: their counters move once a second in each session.
pub static DATABASES: Reading<db::Schema> = Reading {
    name: "databases",
    view: "pg_stat_database",
    rules: Rules { movers_only: true, work: &["xact_commit", "xact_rollback"], ..Rules::PLAIN },
    at_end: None,
    from: "pg_stat_database s LEFT JOIN pg_database d ON d.oid = s.datid ORDER BY s.datid DESC",
    key: "s.datid",
    every_s: 1,
    table: &db::TABLE,
    server: db::server,
    columns: DATABASE_COLUMNS,
};

const DATABASE_COLUMNS: &[Column<db::Schema>] = &[
    // Objects that all databases share belong to none.
    column(&[Sql("coalesce(s.datname, '(shared)')", &["datname"])], Word(db::database)),
    column(&[Name("xact_commit")], Rate(db::commits_per_s, 1.0)),
    column(&[Name("xact_rollback")], Rate(db::rollbacks_per_s, 1.0)),
    column(&[Name("blks_hit")], Rate(db::cache_hits_per_s, 1.0)),
    column(&[Name("blks_read")], Rate(db::cache_misses_per_s, 1.0)),
    column(&[Name("tup_returned")], Rate(db::rows_returned_per_s, 1.0)),
    column(&[Name("tup_fetched")], Rate(db::rows_fetched_per_s, 1.0)),
    column(&[Name("tup_inserted")], Rate(db::rows_inserted_per_s, 1.0)),
    column(&[Name("tup_updated")], Rate(db::rows_updated_per_s, 1.0)),
    column(&[Name("tup_deleted")], Rate(db::rows_deleted_per_s, 1.0)),
    column(&[Name("temp_bytes")], Rate(db::temp_bytes_per_s, 1.0)),
    column(&[Name("temp_files")], Count(db::temp_files)),
    column(&[Name("deadlocks")], Count(db::deadlocks)),
    column(&[Name("conflicts")], Count(db::conflicts)),
    column(&[Name("checksum_failures")], Count(db::checksum_failures)),
    needing(IO_TIMED, &[Name("blk_read_time")], Rate(db::block_read_time, MS)),
    needing(IO_TIMED, &[Name("blk_write_time")], Rate(db::block_write_time, MS)),
    column(&[Name("active_time")], Rate(db::db_time, MS)),
    column(&[Name("idle_in_transaction_time")], Rate(db::idle_in_transaction_time, MS)),
    column(&[Name("session_time")], Rate(db::session_time, MS)),
    column(&[Sql("s.sessions", &["sessions"])], Rate(db::connects_per_s, 1.0)),
    column(&[Name("sessions_abandoned")], Count(db::sessions_abandoned)),
    column(&[Name("sessions_fatal")], Count(db::sessions_fatal)),
    column(&[Name("sessions_killed")], Count(db::sessions_killed)),
    column(&[Name("parallel_workers_to_launch")], Rate(db::parallel_workers_planned_per_s, 1.0)),
    column(&[Name("parallel_workers_launched")], Rate(db::parallel_workers_launched_per_s, 1.0)),
    column(&[Name("numbackends")], Gauge(db::sessions, 1.0)),
    column(&[Sql("age(d.datfrozenxid)", &[])], Gauge(db::xid_age, 1.0)),
    column(&[Sql("mxid_age(d.datminmxid)", &[])], Gauge(db::mxid_age, 1.0)),
];

static WAL: Reading<db_wal::Schema> = Reading {
    name: "write-ahead log",
    view: "pg_stat_wal",
    rules: Rules::PLAIN,
    at_end: None,
    from: "pg_stat_wal",
    key: "''",
    every_s: 1,
    table: &db_wal::TABLE,
    server: db_wal::server,
    columns: &[
        column(&[Name("wal_records")], Rate(db_wal::records_per_s, 1.0)),
        column(&[Name("wal_fpi")], Rate(db_wal::full_pages_per_s, 1.0)),
        column(&[Name("wal_bytes")], Rate(db_wal::wal_bytes_per_s, 1.0)),
        column(&[Name("wal_buffers_full")], Rate(db_wal::buffers_full_per_s, 1.0)),
        column(&[Name("wal_write")], Rate(db_wal::writes_per_s, 1.0)),
        column(&[Name("wal_sync")], Rate(db_wal::syncs_per_s, 1.0)),
        needing(WAL_TIMED, &[Name("wal_write_time")], Rate(db_wal::write_time, MS)),
        needing(WAL_TIMED, &[Name("wal_sync_time")], Rate(db_wal::sync_time, MS)),
        column(&[Sql("(SELECT archived_count FROM pg_stat_archiver)", &[])], Count(db_wal::archived)),
        column(&[Sql("(SELECT failed_count FROM pg_stat_archiver)", &[])], Count(db_wal::archive_failures)),
    ],
};

/// Up to 16; `buffers_backend` counts extensions of files as well.
static CHECKPOINT: Reading<db_checkpoint::Schema> = Reading {
    name: "checkpoints",
    view: "pg_stat_bgwriter",
    rules: Rules { unless: Some("pg_stat_checkpointer"), ..Rules::PLAIN },
    at_end: None,
    from: "pg_stat_bgwriter",
    key: "''",
    every_s: 1,
    table: &db_checkpoint::TABLE,
    server: db_checkpoint::server,
    columns: &[
        column(&[Name("checkpoints_timed")], Count(db_checkpoint::timed)),
        column(&[Name("checkpoints_req")], Count(db_checkpoint::requested)),
        column(&[Name("checkpoint_write_time")], Rate(db_checkpoint::write_time, MS)),
        column(&[Name("checkpoint_sync_time")], Rate(db_checkpoint::sync_time, MS)),
        column(&[Name("buffers_checkpoint")], Rate(db_checkpoint::checkpoint_buffers_per_s, 1.0)),
        column(&[Name("buffers_clean")], Rate(db_checkpoint::cleaner_buffers_per_s, 1.0)),
        column(&[Name("buffers_backend")], Rate(db_checkpoint::backend_buffers_per_s, 1.0)),
        column(&[Name("maxwritten_clean")], Count(db_checkpoint::cleaner_stops)),
        column(&[Name("buffers_backend_fsync")], Count(db_checkpoint::backend_fsyncs)),
        column(&[Name("buffers_alloc")], Rate(db_checkpoint::allocated_per_s, 1.0)),
    ],
};

static CHECKPOINT_17: Reading<db_checkpoint::Schema> = Reading {
    name: "checkpoints",
    view: "pg_stat_checkpointer",
    rules: Rules::PLAIN,
    at_end: None,
    from: "pg_stat_checkpointer c, pg_stat_bgwriter b",
    key: "''",
    every_s: 1,
    table: &db_checkpoint::TABLE,
    server: db_checkpoint::server,
    columns: &[
        column(&[Name("num_timed")], Count(db_checkpoint::timed)),
        column(&[Name("num_requested")], Count(db_checkpoint::requested)),
        column(&[Name("write_time")], Rate(db_checkpoint::write_time, MS)),
        column(&[Name("sync_time")], Rate(db_checkpoint::sync_time, MS)),
        column(&[Name("buffers_written")], Rate(db_checkpoint::checkpoint_buffers_per_s, 1.0)),
        column(&[Sql("b.buffers_clean", &[])], Rate(db_checkpoint::cleaner_buffers_per_s, 1.0)),
        column(&[Sql("b.maxwritten_clean", &[])], Count(db_checkpoint::cleaner_stops)),
        column(&[Sql("b.buffers_alloc", &[])], Rate(db_checkpoint::allocated_per_s, 1.0)),
    ],
};

static IO: Reading<db_io::Schema> = Reading {
    name: "I/O",
    view: "pg_stat_io",
    rules: Rules { movers_only: true, ..Rules::PLAIN },
    at_end: None,
    from: "pg_stat_io",
    key: "backend_type || '/' || object || '/' || context",
    every_s: 10,
    table: &db_io::TABLE,
    server: db_io::server,
    columns: &[
        column(&[Name("backend_type")], Word(db_io::kind)),
        column(&[Name("object")], Word(db_io::object)),
        column(&[Name("context")], Word(db_io::context)),
        column(&[Name("reads")], Rate(db_io::reads_per_s, 1.0)),
        column(&[Name("read_bytes"), Sql("reads * op_bytes", &["op_bytes"])], Rate(db_io::read_bytes_per_s, 1.0)),
        needing(IO_TIMED, &[Name("read_time")], Rate(db_io::read_time, MS)),
        column(&[Name("writes")], Rate(db_io::writes_per_s, 1.0)),
        column(&[Name("write_bytes"), Sql("writes * op_bytes", &["op_bytes"])], Rate(db_io::write_bytes_per_s, 1.0)),
        needing(IO_TIMED, &[Name("write_time")], Rate(db_io::write_time, MS)),
        column(&[Name("writebacks")], Rate(db_io::writebacks_per_s, 1.0)),
        column(&[Name("extends")], Rate(db_io::extends_per_s, 1.0)),
        column(&[Name("extend_bytes"), Sql("extends * op_bytes", &["op_bytes"])], Rate(db_io::extend_bytes_per_s, 1.0)),
        needing(IO_TIMED, &[Name("extend_time")], Rate(db_io::extend_time, MS)),
        column(&[Name("hits")], Rate(db_io::hits_per_s, 1.0)),
        column(&[Name("evictions")], Rate(db_io::evictions_per_s, 1.0)),
        column(&[Name("reuses")], Rate(db_io::reuses_per_s, 1.0)),
        column(&[Name("fsyncs")], Rate(db_io::fsyncs_per_s, 1.0)),
        needing(IO_TIMED, &[Name("fsync_time")], Rate(db_io::fsync_time, MS)),
    ],
};

static REPLICAS: Reading<db_replication::Schema> = Reading {
    name: "replicas",
    view: "pg_stat_replication",
    rules: Rules { only_with: Some("walsender"), ..Rules::PLAIN },
    at_end: None,
    from: "pg_stat_replication WHERE NOT pg_is_in_recovery()",
    key: "pid",
    every_s: 1,
    table: &db_replication::TABLE,
    server: db_replication::server,
    columns: &[
        column(&[Name("application_name")], Word(db_replication::name)),
        column(&[Sql("'sends'", &[])], Word(db_replication::role)),
        column(&[Name("state")], Word(db_replication::state)),
        column(&[Name("sync_state")], Word(db_replication::sync)),
        column(
            &[Sql("pg_current_wal_insert_lsn() - sent_lsn", &["sent_lsn"])],
            Gauge(db_replication::sent_lag_bytes, 1.0),
        ),
        column(&[Sql("sent_lsn - flush_lsn", &["flush_lsn"])], Gauge(db_replication::flush_lag_bytes, 1.0)),
        column(
            &[Sql("pg_current_wal_insert_lsn() - replay_lsn", &["replay_lsn"])],
            Gauge(db_replication::replay_lag_bytes, 1.0),
        ),
        column(&[Sql("extract(epoch FROM flush_lag)", &["flush_lag"])], Gauge(db_replication::flush_lag_s, 1.0)),
        column(&[Sql("extract(epoch FROM replay_lag)", &["replay_lag"])], Gauge(db_replication::replay_lag_s, 1.0)),
        column(&[Sql("age(backend_xmin)", &["backend_xmin"])], Gauge(db_replication::xmin_age, 1.0)),
    ],
};

/// The age of the last replayed transaction is no lag while everything that was received is replayed.
static RECEIVER: Reading<db_replication::Schema> = Reading {
    name: "receiver",
    view: "pg_stat_wal_receiver",
    rules: Rules { only_with: Some("walreceiver"), ..Rules::PLAIN },
    at_end: None,
    from: "pg_stat_wal_receiver",
    key: "pid",
    every_s: 1,
    table: &db_replication::TABLE,
    server: db_replication::server,
    columns: &[
        column(
            &[Sql("coalesce(slot_name, sender_host, 'primary')", &["slot_name", "sender_host"])],
            Word(db_replication::name),
        ),
        column(&[Sql("'receives'", &[])], Word(db_replication::role)),
        column(&[Name("status")], Word(db_replication::state)),
        column(
            &[Sql("pg_last_wal_receive_lsn() - pg_last_wal_replay_lsn()", &[])],
            Gauge(db_replication::replay_lag_bytes, 1.0),
        ),
        column(
            &[Sql(
                "CASE WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() THEN 0 \
                 ELSE extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()) END",
                &[],
            )],
            Gauge(db_replication::replay_lag_s, 1.0),
        ),
    ],
};

static SLOTS: Reading<db_replication::Schema> = Reading {
    name: "replication slots",
    view: "pg_replication_slots",
    rules: Rules::PLAIN,
    at_end: None,
    from: "pg_replication_slots",
    key: "slot_name",
    every_s: 10,
    table: &db_replication::TABLE,
    server: db_replication::server,
    columns: &[
        column(&[Name("slot_name")], Word(db_replication::name)),
        column(&[Sql("'slot'", &[])], Word(db_replication::role)),
        column(&[Name("slot_type")], Word(db_replication::state)),
        column(
            &[Sql(
                "CASE WHEN NOT pg_is_in_recovery() THEN pg_current_wal_insert_lsn() - restart_lsn END",
                &["restart_lsn"],
            )],
            Gauge(db_replication::retained_bytes, 1.0),
        ),
        column(
            &[Sql("greatest(age(xmin), age(catalog_xmin))", &["xmin", "catalog_xmin"])],
            Gauge(db_replication::xmin_age, 1.0),
        ),
        column(&[Name("active")], YesNo(db_replication::active)),
        column(&[Name("wal_status")], Word(db_replication::wal_status)),
    ],
};

/// A reading of one of the views of long operations.
const fn progress(
    name: &'static str,
    view: &'static str,
    from: &'static str,
    columns: &'static [Column<db_progress::Schema>],
) -> Reading<db_progress::Schema> {
    Reading {
        name,
        view,
        rules: Rules::PLAIN,
        at_end: None,
        from,
        key: "pid",
        every_s: 5,
        table: &db_progress::TABLE,
        server: db_progress::server,
        columns,
    }
}

const PID: Column<db_progress::Schema> = column(&[Name("pid")], Id(db_progress::session));
const PHASE: Column<db_progress::Schema> = column(&[Name("phase")], Word(db_progress::phase));
const DATABASE: Column<db_progress::Schema> = column(&[Name("datname")], Word(db_progress::database));
/// A name only within our own database; another's is a number.
const RELATION: Column<db_progress::Schema> = column(
    &[Sql("CASE WHEN datname = current_database() THEN relid::regclass::text ELSE relid::text END", &["relid"])],
    Word(db_progress::relation),
);

static VACUUM: Reading<db_progress::Schema> = progress(
    "vacuums",
    "pg_stat_progress_vacuum",
    "pg_stat_progress_vacuum",
    &[
        PID,
        PHASE,
        DATABASE,
        RELATION,
        column(&[Sql("'VACUUM'", &[])], Word(db_progress::command)),
        column(&[Name("heap_blks_scanned")], Gauge(db_progress::done, 1.0)),
        column(&[Name("heap_blks_total")], Gauge(db_progress::total, 1.0)),
    ],
);

static INDEX_BUILD: Reading<db_progress::Schema> = progress(
    "index builds",
    "pg_stat_progress_create_index",
    "pg_stat_progress_create_index",
    &[
        PID,
        PHASE,
        DATABASE,
        RELATION,
        column(&[Name("command")], Word(db_progress::command)),
        column(&[Name("blocks_done")], Gauge(db_progress::done, 1.0)),
        column(&[Name("blocks_total")], Gauge(db_progress::total, 1.0)),
    ],
);

static ANALYZE: Reading<db_progress::Schema> = progress(
    "analyzes",
    "pg_stat_progress_analyze",
    "pg_stat_progress_analyze",
    &[
        PID,
        PHASE,
        DATABASE,
        RELATION,
        column(&[Sql("'ANALYZE'", &[])], Word(db_progress::command)),
        column(&[Name("sample_blks_scanned")], Gauge(db_progress::done, 1.0)),
        column(&[Name("sample_blks_total")], Gauge(db_progress::total, 1.0)),
    ],
);

static COPY: Reading<db_progress::Schema> = progress(
    "copies",
    "pg_stat_progress_copy",
    "pg_stat_progress_copy",
    &[
        PID,
        DATABASE,
        RELATION,
        column(&[Name("command")], Word(db_progress::command)),
        column(&[Name("bytes_processed")], Gauge(db_progress::done, 1.0)),
        column(&[Name("bytes_total")], Gauge(db_progress::total, 1.0)),
    ],
);

static CLUSTER: Reading<db_progress::Schema> = progress(
    "table rewrites",
    "pg_stat_progress_cluster",
    "pg_stat_progress_cluster",
    &[
        PID,
        PHASE,
        DATABASE,
        RELATION,
        column(&[Name("command")], Word(db_progress::command)),
        column(&[Name("heap_blks_scanned")], Gauge(db_progress::done, 1.0)),
        column(&[Name("heap_blks_total")], Gauge(db_progress::total, 1.0)),
    ],
);

static BASE_BACKUP: Reading<db_progress::Schema> = progress(
    "base backups",
    "pg_stat_progress_basebackup",
    "pg_stat_progress_basebackup",
    &[
        PID,
        PHASE,
        column(&[Sql("'BASE BACKUP'", &[])], Word(db_progress::command)),
        column(&[Name("backup_streamed")], Gauge(db_progress::done, 1.0)),
        column(&[Name("backup_total")], Gauge(db_progress::total, 1.0)),
    ],
);
