//! The sysstat package of Linux: text and JSON of its tools, in every era.

formats! {
    mpstat,
}
