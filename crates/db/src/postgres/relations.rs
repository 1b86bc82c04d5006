//! Tables and indexes of a database, by the functions behind the views: they look up the numbers of a relation without a
//! lock on it, so that nothing waits behind an ALTER TABLE. Sizes are those of the last VACUUM or ANALYZE.

use fenxi_model::catalog::{db_index, db_table};

use crate::reading::{
    AnyReading, AtEnd, Column,
    Fill::{Count, Gauge, Rate, Word, YesNo},
    From::Sql,
    Reading, Rules, column,
};

/// Readings of each database.
pub static READINGS: &[&dyn AnyReading] = &[&TABLES, &INDEXES];

/// The database that we are connected to, and its tables without the server's own.
static TABLES: Reading<db_table::Schema> = Reading {
    name: "tables",
    view: "pg_class",
    rules: Rules { movers_only: true, ..Rules::PLAIN },
    at_end: Some(AtEnd { sql: FREE, place: db_table::free_bytes }),
    from: "pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
           LEFT JOIN LATERAL (SELECT sum(pg_stat_get_numscans(i.indexrelid)) AS scans, \
             sum(pg_stat_get_blocks_fetched(i.indexrelid)) AS fetched, sum(pg_stat_get_blocks_hit(i.indexrelid)) AS hit \
             FROM pg_index i WHERE i.indrelid = c.oid) x ON true \
           WHERE c.relkind IN ('r', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema') \
           ORDER BY c.relpages DESC LIMIT 4000",
    key: "c.oid",
    every_s: 10,
    table: &db_table::TABLE,
    server: db_table::server,
    columns: TABLE_COLUMNS,
};

/// Space of tables beyond their rows, packed as the fill factor allows: pages and rows by the last VACUUM or ANALYZE,
/// widths of columns by the last ANALYZE. A row is its header, the bitmap of NULLs, its columns with half an alignment for
/// each that has one, and its place in the page. A table of which not all columns are known to us has no estimate.
const FREE: &str = "SELECT /* fenxi-db */ t.oid, greatest(0, t.pages - ceil(t.reltuples * (4 + 8 * ceil((24 + t.width) / 8)) \
         / (t.fill * (t.block - 24)))) * t.block \
     FROM (SELECT c.oid, c.relpages::float8 AS pages, c.reltuples::float8 AS reltuples, current_setting('block_size')::float8 AS block, \
         coalesce((SELECT option_value::float8 / 100 FROM pg_options_to_table(c.reloptions) WHERE option_name = 'fillfactor'), 1) AS fill, \
         w.width + CASE WHEN w.nulls > 0 THEN ceil(w.columns / 8.0) ELSE 0 END AS width \
       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
       JOIN LATERAL (SELECT count(s.attname) AS known, count(*) AS columns, max(s.null_frac) AS nulls, \
           sum((1 - s.null_frac) * (s.avg_width + CASE a.attalign WHEN 'd' THEN CASE WHEN a.attlen > 0 THEN 2 ELSE 3.5 END \
             WHEN 'i' THEN CASE WHEN a.attlen > 0 THEN 0 ELSE 1.5 END ELSE 0 END)) AS width \
         FROM pg_attribute a LEFT JOIN pg_stats s ON s.schemaname = n.nspname AND s.tablename = c.relname AND s.attname = a.attname \
           AND NOT s.inherited \
         WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) w ON w.known = w.columns \
       WHERE c.relkind IN ('r', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND c.relpages >= 128 AND c.reltuples >= 0 \
       ORDER BY c.relpages DESC LIMIT 500) t";

const TABLE_COLUMNS: &[Column<db_table::Schema>] = &[
    column(&[Sql("current_database()", &[])], Word(db_table::database)),
    column(&[Sql("n.nspname || '.' || c.relname", &[])], Word(db_table::relation)),
    column(&[Sql("pg_stat_get_numscans(c.oid)", &[])], Rate(db_table::full_scans_per_s, 1.0)),
    column(&[Sql("pg_stat_get_tuples_returned(c.oid)", &[])], Rate(db_table::full_scan_rows_per_s, 1.0)),
    column(&[Sql("x.scans", &[])], Rate(db_table::index_scans_per_s, 1.0)),
    column(&[Sql("pg_stat_get_tuples_inserted(c.oid)", &[])], Rate(db_table::rows_inserted_per_s, 1.0)),
    column(&[Sql("pg_stat_get_tuples_updated(c.oid)", &[])], Rate(db_table::rows_updated_per_s, 1.0)),
    column(&[Sql("pg_stat_get_tuples_hot_updated(c.oid)", &[])], Rate(db_table::rows_hot_updated_per_s, 1.0)),
    column(&[Sql("pg_stat_get_tuples_deleted(c.oid)", &[])], Rate(db_table::rows_deleted_per_s, 1.0)),
    column(&[Sql("pg_stat_get_blocks_hit(c.oid)", &[])], Rate(db_table::cache_hits_per_s, 1.0)),
    column(
        &[Sql("pg_stat_get_blocks_fetched(c.oid) - pg_stat_get_blocks_hit(c.oid)", &[])],
        Rate(db_table::cache_misses_per_s, 1.0),
    ),
    column(&[Sql("x.hit", &[])], Rate(db_table::index_hits_per_s, 1.0)),
    column(&[Sql("x.fetched - x.hit", &[])], Rate(db_table::index_misses_per_s, 1.0)),
    column(
        &[Sql("CASE WHEN c.reltoastrelid <> 0 THEN pg_stat_get_blocks_hit(c.reltoastrelid) END", &[])],
        Rate(db_table::toast_hits_per_s, 1.0),
    ),
    column(
        &[Sql(
            "CASE WHEN c.reltoastrelid <> 0 THEN pg_stat_get_blocks_fetched(c.reltoastrelid) - pg_stat_get_blocks_hit(c.reltoastrelid) END",
            &[],
        )],
        Rate(db_table::toast_misses_per_s, 1.0),
    ),
    column(
        &[Sql("pg_stat_get_vacuum_count(c.oid) + pg_stat_get_autovacuum_count(c.oid)", &[])],
        Count(db_table::vacuums),
    ),
    column(
        &[Sql("pg_stat_get_analyze_count(c.oid) + pg_stat_get_autoanalyze_count(c.oid)", &[])],
        Count(db_table::analyzes),
    ),
    column(&[Sql("pg_stat_get_live_tuples(c.oid)", &[])], Gauge(db_table::live_rows, 1.0)),
    column(&[Sql("pg_stat_get_dead_tuples(c.oid)", &[])], Gauge(db_table::dead_rows, 1.0)),
    column(&[Sql("pg_stat_get_mod_since_analyze(c.oid)", &[])], Gauge(db_table::modified_since_analyze, 1.0)),
    column(
        &[Sql(
            "extract(epoch FROM clock_timestamp() - greatest(pg_stat_get_last_vacuum_time(c.oid), pg_stat_get_last_autovacuum_time(c.oid)))",
            &[],
        )],
        Gauge(db_table::vacuum_age_s, 1.0),
    ),
    column(
        &[Sql(
            "extract(epoch FROM clock_timestamp() - greatest(pg_stat_get_last_analyze_time(c.oid), pg_stat_get_last_autoanalyze_time(c.oid)))",
            &[],
        )],
        Gauge(db_table::analyze_age_s, 1.0),
    ),
    column(&[Sql("CASE WHEN c.relfrozenxid <> '0' THEN age(c.relfrozenxid) END", &[])], Gauge(db_table::xid_age, 1.0)),
    column(
        &[Sql("nullif(c.relpages, 0) * current_setting('block_size')::bigint", &[])],
        Gauge(db_table::size_bytes, 1.0),
    ),
    column(&[Sql("pg_relation_filepath(c.oid)", &[])], Word(db_table::file)),
];

static INDEXES: Reading<db_index::Schema> = Reading {
    name: "indexes",
    view: "pg_class",
    rules: Rules { movers_only: true, ..Rules::PLAIN },
    at_end: None,
    from: "pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class r ON r.oid = i.indrelid \
           JOIN pg_namespace n ON n.oid = r.relnamespace \
           WHERE c.relkind = 'i' AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') \
           ORDER BY c.relpages DESC LIMIT 4000",
    key: "c.oid",
    every_s: 10,
    table: &db_index::TABLE,
    server: db_index::server,
    columns: &[
        column(&[Sql("current_database()", &[])], Word(db_index::database)),
        column(&[Sql("n.nspname || '.' || r.relname", &[])], Word(db_index::relation)),
        column(&[Sql("c.relname", &[])], Word(db_index::index_name)),
        column(&[Sql("pg_stat_get_numscans(c.oid)", &[])], Rate(db_index::scans_per_s, 1.0)),
        column(&[Sql("pg_stat_get_tuples_returned(c.oid)", &[])], Rate(db_index::entries_read_per_s, 1.0)),
        column(&[Sql("pg_stat_get_tuples_fetched(c.oid)", &[])], Rate(db_index::rows_fetched_per_s, 1.0)),
        column(&[Sql("pg_stat_get_blocks_hit(c.oid)", &[])], Rate(db_index::cache_hits_per_s, 1.0)),
        column(
            &[Sql("pg_stat_get_blocks_fetched(c.oid) - pg_stat_get_blocks_hit(c.oid)", &[])],
            Rate(db_index::cache_misses_per_s, 1.0),
        ),
        column(
            &[Sql("nullif(c.relpages, 0) * current_setting('block_size')::bigint", &[])],
            Gauge(db_index::size_bytes, 1.0),
        ),
        column(&[Sql("i.indisunique", &[])], YesNo(db_index::is_unique)),
        column(&[Sql("i.indisvalid", &[])], YesNo(db_index::is_valid)),
        column(&[Sql("pg_relation_filepath(c.oid)", &[])], Word(db_index::file)),
    ],
};
