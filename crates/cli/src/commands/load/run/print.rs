//! Output of `fenxi load run`: a line for each interval, then the total; as text or as JSON Lines.

use std::collections::BTreeMap;

use fenxi_load::{
    engine::{Interval, Outcome},
    report::{self, Summary},
};
use serde_json::json;

use super::super::exporter::Exporter;
use crate::print;

/// Output and export while a load runs, and when it has ended.
pub struct Printer {
    /// No line for each interval.
    pub quiet: bool,
    /// JSON Lines on standard output.
    pub json: bool,
    /// The exporter that Prometheus asks.
    pub exporter: Option<Exporter>,
}

impl Printer {
    /// Prints an interval.
    pub fn interval(&self, interval: &Interval, summary: &Summary) {
        if let Some(exporter) = &self.exporter {
            exporter.add(interval);
        }
        if self.json {
            // A failed write makes the command fail in the end; the load goes on.
            let _ = print::json(&format!("{}\n", json!({ "interval": summary })));
        } else if !self.quiet {
            print::message(&summary.line());
        }
    }

    /// Prints the total, and what is to be doubted of it.
    pub fn total(&self, outcome: &Outcome) -> anyhow::Result<()> {
        let errors: BTreeMap<String, _> = outcome
            .total
            .tally
            .errors
            .iter()
            .map(|(failure, (count, example))| (failure.to_string(), json!({ "count": count, "example": example })))
            .collect();
        if self.json {
            let total = json!({ "total": {
                "summary": Summary::from_interval(&outcome.total),
                "results": report::figures(outcome),
                "errors": errors,
                "doubts": outcome.doubts(),
                "stopped": outcome.stopped,
            }});
            print::json(&format!("{total}\n"))?;
        } else {
            print::text(&report::text(outcome))?;
        }
        for doubt in outcome.doubts() {
            print::message(&format!("warning: {doubt}"));
        }
        if let Some(reason) = &outcome.stopped {
            print::message(&format!("the load was aborted: {reason}"));
        }
        if outcome.total.tally.transactions == 0 {
            print::message("no transaction was completed");
        }
        Ok(())
    }
}
