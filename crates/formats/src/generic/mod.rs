//! Formats that carry anything: .xan, Prometheus text, CSV, JSON lines; and Faban's run directories.

pub(crate) mod labels;
pub(crate) mod sheet;
mod steps;
pub(crate) mod when;
mod xml;

formats! {
    xan,
    faban_summary,
    faban_run,
    prometheus,
    perfmon,
    perfkit,
    csv,
    json_lines,
    parquet,
}
