//! Every result of the runs at a glance: its latest values, and the last change point of each, what became worse first.

use std::cmp::Reverse;

use fenxi_analyze::Verdict;
use fenxi_model::Better;
use fenxi_store::Store;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    CompareError, LEAST, Level, Point, Trend, TrendRequest,
    wording::{BetterWord, words_of},
};

/// Latest values of a result that are listed.
const LATEST: usize = 30;

/// The results of runs.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Trends {
    /// Results that varied, what became worse first.
    pub series: Vec<Series>,
    /// Results left out, as they never varied or have one value.
    pub constant: usize,
    /// Points that a series needs for its change points to be looked for.
    pub least: usize,
}

/// One result over the runs of one program.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "TrendSeries")]
pub struct Series {
    /// Name of the result.
    pub metric: String,
    /// The program of its runs, where there are several and the request chose no runs.
    pub program: Option<String>,
    /// The unit, in words; empty for a plain number.
    pub unit: String,
    /// Which direction is good.
    #[serde(serialize_with = "words_of")]
    #[schemars(with = "BetterWord")]
    pub better: Better,
    /// Runs, or batches, that have it.
    pub points: usize,
    /// The latest values, the newest last.
    pub latest: Vec<f64>,
    /// The last change point.
    pub change: Option<LastChange>,
}

/// Where a result changed last.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct LastChange {
    /// The first run of the new level.
    #[serde(flatten)]
    pub first: Point,
    /// The levels before and after.
    #[serde(flatten)]
    pub level: Level,
}

impl Trends {
    /// Follows every result of the runs, those of each program by themselves unless selectors chose the runs.
    ///
    /// # Errors
    /// When a run cannot be read, or none has a result.
    pub fn read(store: &Store, request: TrendRequest<'_>) -> Result<Trends, CompareError> {
        let is_chosen = !request.only.is_empty();
        let split = |trend: Trend| if is_chosen { vec![(None, trend)] } else { trend.by_program() };
        let mut all: Vec<_> = Trend::all(store, request)?.into_iter().flat_map(split).collect();
        let read = all.len();
        all.retain(|(_, trend)| trend.points.windows(2).any(|pair| pair[0].value != pair[1].value));
        let constant = read - all.len();
        let several = all.windows(2).any(|pair| pair[0].0 != pair[1].0);
        let mut series: Vec<Series> =
            all.into_iter().map(|(program, trend)| Series::of(program.filter(|_| several), &trend)).collect();
        series.sort_by_key(|series| (Reverse(series.weight()), Reverse(series.points)));
        Ok(Trends { series, constant, least: LEAST })
    }
}

impl Series {
    fn of(program: Option<String>, trend: &Trend) -> Series {
        let points = &trend.points;
        let latest = points[points.len().saturating_sub(LATEST)..].iter().map(|point| point.value).collect();
        let change = trend.changes.last().map(|level| LastChange { first: points[level.at].clone(), level: *level });
        let (metric, unit) = (trend.metric.clone(), trend.unit.clone());
        Series { metric, program, unit, better: trend.better, points: points.len(), latest, change }
    }

    /// How much it matters: 2 where its last change is for the worse, 1 for any other change.
    fn weight(&self) -> u8 {
        self.change.as_ref().map_or(0, |change| if change.level.verdict == Verdict::Worse { 2 } else { 1 })
    }
}
