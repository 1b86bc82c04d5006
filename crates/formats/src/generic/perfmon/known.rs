//! Which counters of Windows and of ESXi are columns of tables.

use std::sync::LazyLock;

use fenxi_model::{
    Table,
    catalog::{cpu, disk, mem, net, process, sched, vm},
};

use crate::own::{Goal, words::Words};

/// Every counter that is a column. Of two that make one column the later one wins.
static WORDS: LazyLock<Words> =
    LazyLock::new(|| Words::shipped(include_str!("../../../../../formats/generic/perfmon.toml")));

/// How the figure of a counter becomes that of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Make {
    /// It is multiplied.
    Times(f64),
    /// It is what is left of 100 %.
    Complement,
}

/// A counter that is a column.
pub(super) struct Known {
    pub(super) table: &'static Table,
    pub(super) place: usize,
    pub(super) make: Make,
}

/// The tables that these counters fill.
pub(super) const TABLES: &[&Table] =
    &[&cpu::TABLE, &sched::TABLE, &mem::TABLE, &vm::TABLE, &disk::TABLE, &net::TABLE, &process::TABLE];

/// The column that a counter makes; sums over devices and processes make none.
pub(super) fn find(object: &str, instance: &str, counter: &str) -> Option<Known> {
    let object = if object == "Processor Information" { "Processor" } else { object };
    let Goal::Column { table, place, scale, offset, .. } = WORDS.find(object, counter)? else { return None };
    let sum = instance == "_Total" || object == "Process" && instance == "Idle";
    let make = if *offset > 0.0 { Make::Complement } else { Make::Times(*scale) };
    (table.id == cpu::TABLE.id || !sum).then_some(Known { table, place: *place, make })
}

/// The unit of a counter that no table has, by its name.
pub(super) fn unit(counter: &str) -> &'static str {
    let words = |end: &str| counter.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with(' '));
    if counter.starts_with("% ") {
        "%"
    } else if words("Bytes/sec") || words("Bytes Received/sec") || words("Bytes Sent/sec") || words("Bytes Total/sec") {
        "B/s"
    } else if counter.ends_with("/sec") && !counter.contains("MBytes") && !counter.contains("MBits") {
        "/s"
    } else if words("Bytes") {
        "B"
    } else {
        ""
    }
}
