//! The section `TOP`: processes.

use fenxi_model::{Micros, Place, catalog::process, place::F64};

use crate::{Fields, Out, number};

const KB: f64 = 1024.0;

const KNOWN: &[(&str, Place<process::Schema, F64>, f64)] = &[
    ("%CPU", process::cpu, 1.0),
    ("%Usr", process::usr, 1.0),
    ("%Sys", process::sys, 1.0),
    ("Size", process::vsz_bytes, KB),
    ("ResSet", process::rss_bytes, KB),
    ("MinorFault", process::minor_faults_per_s, 1.0),
    ("MajorFault", process::major_faults_per_s, 1.0),
    ("Threads", process::threads, 1.0),
];

/// Columns after the process and the snapshot.
#[derive(Default)]
pub(super) struct Processes {
    columns: Vec<Column>,
    command: usize,
}

enum Column {
    Place(Place<process::Schema, F64>, f64),
    Metric(String),
    Text,
}

impl Processes {
    /// From `TOP,+PID,Time,%CPU,...,Command,...`.
    pub(super) fn titles(&mut self, fields: &Fields<'_>) {
        let titles = fields.from(3);
        self.command = titles.iter().position(|t| t == "Command").unwrap_or(titles.len());
        self.columns = titles
            .iter()
            .map(|title| match KNOWN.iter().find(|(t, ..)| *t == title) {
                Some((_, place, scale)) => Column::Place(*place, *scale),
                None if matches!(title, "Command" | "WLMclass") => Column::Text,
                None => Column::Metric(format!("nmon.TOP.{title}")),
            })
            .collect();
    }

    /// A row of one process at one snapshot.
    pub(super) fn write(
        &self,
        line: u64,
        text: &str,
        (t, dt): (Micros, Option<f64>),
        fields: &Fields<'_>,
        out: &mut Out<'_>,
    ) {
        let values = fields.from(3);
        // A name of a program may have commas in it.
        let more = values.len().saturating_sub(self.columns.len());
        let pid: Option<i64> = fields.get(1).parse().ok();
        let (Some(pid), true) = (pid, values.len() >= self.columns.len() && !self.columns.is_empty()) else {
            out.unknown(line, text, "no process as the titles say");
            return;
        };
        let name = values.get(self.command);
        let at = |i: usize| values.get(if i > self.command { i.saturating_add(more) } else { i });
        let mut row = out.row(&process::TABLE, t, dt);
        row.i64(process::pid, pid).str(process::comm, name);
        for (i, column) in self.columns.iter().enumerate() {
            if let Column::Place(place, scale) = column {
                let value = number(at(i)).filter(|v| !v.is_sign_negative());
                row.f64(*place, value.map(|v| v * scale));
            }
        }
        let labels = format!("pid={pid}");
        for (i, column) in self.columns.iter().enumerate() {
            if let (Column::Metric(metric), Some(value)) = (column, number(at(i))) {
                out.metric(t, dt, metric, &labels, value, "");
            }
        }
    }
}
