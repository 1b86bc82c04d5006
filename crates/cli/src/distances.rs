//! Runs of a group, by their distance from the others.

use std::process::ExitCode;

use fenxi_compare::{Rank, Representative, Room, group};
use serde_json::json;

use crate::{options::Global, print, stores};

/// Prints the runs that selectors name, and which of them is the representative one.
pub fn show(global: &Global, runs: &[String], window: &str, as_json: bool) -> anyhow::Result<ExitCode> {
    let store = stores::open(global)?;
    let found = Representative::of(&store, &group(&store, &runs.join(","))?, window, Room::default())?;
    print::put(print::Form::json_if(as_json), list(&found, as_json).as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// The runs and their distances, the nearest to the representative one first.
pub fn list(found: &Representative, as_json: bool) -> String {
    let order = found.nearest_first();
    if as_json {
        return order.into_iter().map(|rank| format!("{}\n", json!(rank))).collect();
    }
    let remark = |rank: &Rank| match (rank.representative, rank.outlier) {
        (true, _) => "representative",
        (_, true) => "outlier",
        _ => "",
    };
    let row = |rank: &Rank| {
        let distance = format!("{:.2}", rank.distance);
        vec![rank.run.to_string(), rank.name.clone(), distance, remark(rank).to_owned()]
    };
    let rows: Vec<Vec<String>> = order.into_iter().map(row).collect();
    print::listing(&["run", "name", "distance", ""], &[2], &[], &rows)
}
