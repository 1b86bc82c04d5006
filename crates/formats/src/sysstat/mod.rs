//! The sysstat package of Linux: text and JSON of its tools, in every era.

pub(crate) mod headers;
pub(crate) mod json;
pub(crate) mod times;

formats! {
    mpstat,
    iostat,
    iostat_json,
    mpstat_json,
    pidstat,
    pidstat_json,
}
