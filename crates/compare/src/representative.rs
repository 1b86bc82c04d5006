//! Representative run of a group, and the distance of every other run from it.

use std::collections::BTreeSet;

use fenxi_analyze::{Metric, representative};
use fenxi_model::RunId;
use fenxi_store::Store;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Chosen, CompareError, Room, summary};

/// One run of a group.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Rank {
    /// The run.
    #[schemars(with = "String")]
    pub run: RunId,
    /// How it is called.
    pub name: String,
    /// How far it is from the representative one, in standard deviations; about 1 is ordinary.
    pub distance: f64,
    /// True if it stands for all.
    pub representative: bool,
    /// True if it lies much farther away than the others.
    pub outlier: bool,
}

/// Distances between the runs of a group, and the medoid.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Representative {
    /// The run nearest to all others.
    #[schemars(with = "String")]
    pub representative: RunId,
    /// Every run, in the order in which they were given.
    pub runs: Vec<Rank>,
}

impl Representative {
    /// Compares the runs by all their metrics and results, over `window` of each, as far as there is room.
    ///
    /// # Errors
    /// When there is no run, or one cannot be read or has no such window.
    pub fn of(store: &Store, runs: &[RunId], window: &str, mut room: Room) -> Result<Representative, CompareError> {
        let chosen = Chosen { by: &[], window };
        let summaries = runs
            .iter()
            .map(|run| summary(store, &store.run(run)?, chosen, &mut room))
            .collect::<Result<Vec<_>, _>>()?;
        let metrics: BTreeSet<&Metric> = summaries.iter().flat_map(|s| s.metrics.keys()).collect();
        let results: BTreeSet<&String> = summaries.iter().flat_map(|s| s.results.keys()).collect();
        let values: Vec<Vec<f64>> = summaries
            .iter()
            .map(|s| {
                let results = results.iter().map(|name| s.results.get(*name).map_or(f64::NAN, |o| o.value));
                metrics.iter().map(|m| s.metrics.get(*m).copied().unwrap_or(f64::NAN)).chain(results).collect()
            })
            .collect();
        let found = representative(&values).ok_or_else(|| CompareError::NoRun(String::new()))?;
        let rank = |(i, (run, of_run)): (usize, (&RunId, &fenxi_analyze::RunSummary))| Rank {
            run: run.clone(),
            name: of_run.name.clone(),
            distance: found.from_representative[i],
            representative: i == found.representative,
            outlier: found.outliers.contains(&i),
        };
        let rank = runs.iter().zip(&summaries).enumerate().map(rank).collect();
        Ok(Representative { representative: runs[found.representative].clone(), runs: rank })
    }

    /// The runs, the representative one first and the farthest last.
    pub fn nearest_first(&self) -> Vec<&Rank> {
        let mut order: Vec<&Rank> = self.runs.iter().collect();
        order.sort_by(|a, b| (!a.representative).cmp(&!b.representative).then(a.distance.total_cmp(&b.distance)));
        order
    }
}
