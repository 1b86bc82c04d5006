//! The sysstat package of Linux: text and JSON of its tools, in every era.

mod headers;
mod json;
mod named;
mod times;

formats! {
    mpstat,
    iostat,
    iostat_json,
    mpstat_json,
    pidstat,
    pidstat_json,
    cifsiostat,
    cifsiostat_json,
    tapestat,
    tapestat_json,
}
