//! Reports about databases.

mod digest;
mod psql;

pub use digest::digest_of;

formats! {
    pgstatspack,
    oracle,
    pt_query_digest,
    mysql_status,
    mysqldumpslow,
}
