//! Formats that carry anything: .xan, Prometheus text, CSV, JSON lines; and Faban's run directories.

mod labels;
mod steps;
mod when;

formats! {
    xan,
}
