//! The second part of prstat's blocks: sums by user, project, task or zone.

use fenxi_model::Micros;

use super::columns::Columns;
use crate::{Fields, Out, scaled};

/// By what processes are summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    User,
    Project,
    Task,
    Zone,
}

impl Group {
    /// Reads a header line that has the column `MEMORY`.
    pub(super) fn read(fields: &Fields<'_>) -> Option<Group> {
        match fields.get(0) {
            "PROJID" => Some(Group::Project),
            "TASKID" => Some(Group::Task),
            "ZONEID" => Some(Group::Zone),
            "NPROC" | "NLWP" => Some(Group::User),
            _ => None,
        }
    }
}

/// Writes one line as metrics.
pub(super) fn write(
    group: Group,
    columns: &Columns,
    line: u64,
    (t, dt): (Micros, Option<f64>),
    fields: &Fields<'_>,
    out: &mut Out<'_>,
) {
    if fields.len() < columns.len() {
        out.wrong_count(line, fields.rest(0), fields.len(), columns.len());
        return;
    }
    let cell = |name| columns.cell(fields, name).unwrap_or("");
    let (kind, labels) = match group {
        Group::User => ("user", format!("user={}", cell("USERNAME"))),
        Group::Project => ("project", format!("project={}", cell("PROJECT"))),
        Group::Task => ("task", format!("task={},project={}", cell("TASKID"), cell("PROJECT"))),
        Group::Zone => ("zone", format!("zone={}", cell("ZONE"))),
    };
    for (name, what) in [("NPROC", "processes"), ("NLWP", "lwps")] {
        if let Some(count) = columns.number(fields, name) {
            out.metric(t, dt, &format!("prstat.{kind}.{what}"), &labels, count, "");
        }
    }
    for (name, what) in [("SWAP", "swap_bytes"), ("SIZE", "size_bytes"), ("RSS", "rss_bytes")] {
        if let Some(bytes) = columns.cell(fields, name).and_then(|cell| scaled(cell, 1024.0)) {
            out.metric(t, dt, &format!("prstat.{kind}.{what}"), &labels, bytes, "B");
        }
    }
    for (name, what, unit) in [("MEMORY", "memory", "%"), ("CPU", "CPU", "% of all CPUs")] {
        if let Some(share) = columns.percent(fields, name) {
            out.metric(t, dt, &format!("prstat.{kind}.{what}"), &labels, share, unit);
        }
    }
}
