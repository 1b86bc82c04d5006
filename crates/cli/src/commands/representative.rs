//! `fenxi representative`.

use std::{collections::BTreeSet, process::ExitCode};

use anyhow::bail;
use clap::Args;
use fenxi_analyze::{Distances, Metric, representative};
use fenxi_model::RunId;
use fenxi_store::Store;
use serde_json::json;

use crate::{
    args::Cli,
    print,
    stores::{self, group},
    summaries::{Chosen, summary},
};

/// `fenxi representative`
#[derive(Debug, Args)]
#[command(after_help = "\
The representative run is the one nearest to all others, over all their metrics, each in standard
deviations. A distance of about 1 is ordinary; a run that lies much farther away is called an outlier.

Example:
  fenxi representative kernel=6.18")]
pub struct RepresentativeArgs {
    /// Runs of one kind
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<String>,
    /// Part of the runs: `all`, a window's name, FROM..TO, or `auto`: the steady part
    #[arg(long, value_name = "NAME", default_value = "auto")]
    pub window: String,
    /// One JSON object per run and line
    #[arg(long)]
    pub json: bool,
}

/// Lists the runs, the nearest to the representative one first.
pub fn run(cli: &Cli, args: &RepresentativeArgs) -> anyhow::Result<ExitCode> {
    let store = stores::open(cli)?;
    let runs = group(&store, &args.runs.join(","))?;
    let stood = Stood::of(&store, &runs, &args.window)?;
    print::data(list(&runs, &stood, args.json).as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// How runs lie to each other.
pub struct Stood {
    /// The distances.
    pub found: Distances,
    names: Vec<String>,
}

impl Stood {
    /// Compares the runs by all their metrics and results.
    ///
    /// # Errors
    /// When a run cannot be read, or has no such window.
    pub fn of(store: &Store, runs: &[RunId], window: &str) -> anyhow::Result<Stood> {
        let chosen = Chosen { by: &[], window };
        let summaries = runs.iter().map(|run| summary(store, run, chosen)).collect::<anyhow::Result<Vec<_>>>()?;
        let metrics: BTreeSet<&Metric> = summaries.iter().flat_map(|s| s.metrics.keys()).collect();
        let results: BTreeSet<&String> = summaries.iter().flat_map(|s| s.results.keys()).collect();
        let values: Vec<Vec<f64>> = summaries
            .iter()
            .map(|s| {
                let results = results.iter().map(|name| s.results.get(*name).map_or(f64::NAN, |o| o.value));
                metrics.iter().map(|m| s.metrics.get(*m).copied().unwrap_or(f64::NAN)).chain(results).collect()
            })
            .collect();
        let Some(found) = representative(&values) else { bail!("no run") };
        Ok(Stood { found, names: summaries.into_iter().map(|s| s.name).collect() })
    }
}

/// The runs and their distances, the nearest to the representative one first.
pub fn list(runs: &[RunId], stood: &Stood, as_json: bool) -> String {
    let found = &stood.found;
    let mut order: Vec<usize> = (0..runs.len()).collect();
    order.sort_by(|a, b| found.from_representative[*a].total_cmp(&found.from_representative[*b]));
    if as_json {
        let line = |i: usize| {
            let line = json!({
                "run": runs[i], "name": stood.names[i], "distance": found.from_representative[i],
                "representative": i == found.representative, "outlier": found.outliers.contains(&i),
            });
            format!("{line}\n")
        };
        return order.into_iter().map(line).collect();
    }
    let remark = |i: usize| match i {
        i if i == found.representative => "representative",
        i if found.outliers.contains(&i) => "outlier",
        _ => "",
    };
    let row = |i: usize| {
        let distance = format!("{:.2}", found.from_representative[i]);
        vec![runs[i].to_string(), stood.names[i].clone(), distance, remark(i).to_owned()]
    };
    let rows: Vec<Vec<String>> = order.into_iter().map(row).collect();
    print::columns(&["run", "name", "distance", ""], &[2], &rows)
}
