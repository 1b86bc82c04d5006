//! Formats that carry anything: .xan, Prometheus text, CSV, JSON lines; and Faban's run directories.

pub(in crate::import) mod labels;
mod sheet;
mod steps;
pub(in crate::import) mod when;
mod xml;

formats! {
    xan,
    faban_summary,
    faban_run,
    prometheus,
    csv,
    json_lines,
}
