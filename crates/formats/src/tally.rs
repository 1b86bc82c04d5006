//! Counts and facts of one input: rows by table, times, notes, hosts.

use std::collections::BTreeSet;

use fenxi_model::Micros;

/// Counts of one input: rows, notes, lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Rows by table, in the catalogue's order; notes and the since-boot rows are not among them.
    pub tables: Vec<(&'static str, u64)>,
    /// The begin of the earliest row's interval.
    pub first: Option<Micros>,
    /// The latest time of any row.
    pub last: Option<Micros>,
    /// Things that could not be read.
    pub notes: u64,
    /// Things that were assumed because neither the content nor the user gave them.
    pub assumptions: u64,
    /// Rows of the since-boot sample, kept apart.
    pub boot_rows: u64,
    /// True if times were taken from the file's last writing.
    pub timed_by_writing: bool,
    /// True if times were counted from the date in the tool's own head.
    pub dated_by_head: bool,
    /// Hosts that the content names, up to some number of them.
    pub hosts: BTreeSet<String>,
    /// True if the content names a host, and has no row before that.
    pub names_host_first: bool,
}

impl Tally {
    /// Rows of all tables.
    pub fn rows(&self) -> u64 {
        self.tables.iter().map(|(_, n)| n).sum()
    }
}
