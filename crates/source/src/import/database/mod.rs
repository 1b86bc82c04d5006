//! Reports about databases.

mod digest;
mod psql;

formats! {
    pgstatspack,
    oracle,
    pt_query_digest,
    mysql_status,
    mysqldumpslow,
}
