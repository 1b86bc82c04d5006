//! Reports about databases.

mod psql;

formats! {
    pgstatspack,
    oracle,
    pt_query_digest,
    mysql_status,
    mysqldumpslow,
}
