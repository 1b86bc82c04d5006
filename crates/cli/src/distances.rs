//! Runs of a group, by their distance from the others.

use fenxi_compare::{Representative, Stood};
use serde_json::json;

use crate::print;

/// The runs and their distances, the nearest to the representative one first.
pub fn list(found: &Representative, as_json: bool) -> String {
    let order = found.nearest_first();
    if as_json {
        return order.into_iter().map(|stood| format!("{}\n", json!(stood))).collect();
    }
    let remark = |stood: &Stood| match (stood.representative, stood.outlier) {
        (true, _) => "representative",
        (_, true) => "outlier",
        _ => "",
    };
    let row = |stood: &Stood| {
        let distance = format!("{:.2}", stood.distance);
        vec![stood.run.to_string(), stood.name.clone(), distance, remark(stood).to_owned()]
    };
    let rows: Vec<Vec<String>> = order.into_iter().map(row).collect();
    print::listing(&["run", "name", "distance", ""], &[2], &[], &rows)
}
