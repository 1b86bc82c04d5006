//! The sysstat package of Linux: text and JSON of its tools, in every era.

mod headers;
mod times;

formats! {
    mpstat,
    iostat,
}
