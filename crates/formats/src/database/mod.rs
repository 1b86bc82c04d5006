//! Reports about databases.

mod psql;
mod statements;

formats! {
    pgstatspack,
    psql_table,
    oracle,
    pt_query_digest,
    mysql_status,
    mysqldumpslow,
    postgresql_log,
    mysql_slow_log,
    innodb_status,
    redis_info,
}
