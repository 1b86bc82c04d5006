//! A study's report: plain structures, which the terminal prints, and `--json` and the API serialise.

use schemars::JsonSchema;
use serde::Serialize;

/// From where to where.
pub type Range = Option<[f64; 2]>;

/// Report of a study.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "StudyReport")]
pub struct Report {
    /// Name of the study.
    pub study: String,
    /// Description of the study.
    pub about: Option<String>,
    /// Where its order began.
    pub seed: u64,
    /// Blocks planned.
    pub blocks: u32,
    /// Cells planned.
    pub cells: usize,
    /// Runs that are finished.
    pub finished: usize,
    /// Each response.
    pub responses: Vec<OfResponse>,
    /// Runs that failed, and why; with whether a later try was finished.
    pub failures: Vec<Failure>,
}

/// Report of one response.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "StudyResponse")]
pub struct OfResponse {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// `higher`, `lower` or `neither` is good.
    pub better: String,
    /// True if it is work per time.
    pub is_throughput: bool,
    /// True if it is the time of one of many operations.
    pub is_latency: bool,
    /// Each cell, in the order of the plan.
    pub cells: Vec<OfCell>,
    /// Each factor alone, over all levels of the others.
    pub effects: Vec<Effect>,
    /// Levels of one factor against the plan's reference, at each combination of the others.
    pub against: Vec<AtLevel>,
    /// Along the numeric factor, for each combination of the others.
    pub curves: Vec<Curve>,
    /// Where a latency begins to grow fast.
    pub knees: Vec<LatencyKnee>,
    /// The best cell.
    pub best: Option<BestCell>,
    /// Pairs of factors whose effects depend on each other.
    pub interactions: Vec<Together>,
    /// Pairs of factors that were tested for it: with a run in every cell of two blocks.
    pub pairs_tested: usize,
    /// Runs far from the others of their cell.
    pub outliers: Vec<Far>,
    /// Cells whose runs have two modes: their means describe no run.
    pub modes: Vec<TwoModes>,
}

/// One cell of a response.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "StudyCell")]
pub struct OfCell {
    /// The cell.
    pub cell: String,
    /// Runs of it.
    pub n: usize,
    /// Their mean; null in JSON where there is none.
    #[schemars(with = "Option<f64>")]
    pub mean: f64,
    /// Its 95 % interval.
    pub interval: Range,
    /// CPU seconds of the command, on average.
    pub command_cpu_s: Option<f64>,
    /// CPU seconds of the whole machine, on average.
    pub machine_cpu_s: Option<f64>,
    /// CPU seconds of the machine per unit of work, where the response is a throughput.
    pub cpu_s_per_unit: Option<f64>,
}

/// A factor alone.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "FactorEffect")]
pub struct Effect {
    /// The factor.
    pub factor: String,
    /// Each level: the mean over the other factors (geometric), and by what factor it differs from the first.
    pub levels: Vec<EffectLevel>,
}

/// A level of a factor alone.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "FactorLevel")]
pub struct EffectLevel {
    /// The level.
    pub level: String,
    /// The geometric mean over blocks and the other factors.
    pub mean: f64,
    /// Its 95 % interval, over blocks.
    pub interval: Range,
    /// By what factor it differs from the first level, within blocks.
    pub ratio: f64,
    /// Its 95 % interval.
    pub ratio_interval: Range,
}

/// A level against the reference, at one combination of the other factors.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "LevelAgainstReference")]
pub struct AtLevel {
    /// The factor.
    pub factor: String,
    /// The level of it with which others are compared.
    pub reference: String,
    /// The level that is compared.
    pub level: String,
    /// The levels of the other factors.
    pub others: String,
    /// Blocks that have both.
    pub n: usize,
    /// By what factor it differs, within blocks.
    pub ratio: f64,
    /// Its 95 % interval.
    pub interval: Range,
}

/// The point of a latency curve from which latency grows fast: the farthest from the chord.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct LatencyKnee {
    /// The factor along which the load grows.
    pub factor: String,
    /// The levels of the others.
    pub others: String,
    /// Its level at the knee.
    pub level: f64,
    /// The throughput there.
    pub throughput: f64,
    /// The unit of it.
    pub throughput_unit: String,
    /// The throughput's 95 % interval, over blocks.
    pub interval: Range,
    /// Levels beyond the highest throughput, which are left out.
    pub beyond_peak: Vec<f64>,
}

/// A response along a numeric factor.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Curve {
    /// The factor.
    pub factor: String,
    /// The levels of the others.
    pub others: String,
    /// Each level.
    pub points: Vec<Point>,
    /// Contention and coherency.
    pub usl: Option<Fit>,
    /// Contention only.
    pub amdahl: Option<Fit>,
}

/// A level of a curve.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "CurvePoint")]
pub struct Point {
    /// The level.
    pub level: f64,
    /// The cell's place among the cells.
    pub cell: usize,
    /// How many times the throughput of the first level, within blocks.
    pub speedup: Option<f64>,
    /// Its 95 % interval.
    pub speedup_interval: Range,
    /// Speed-up over how many times the first level it is.
    pub efficiency: Option<f64>,
}

/// A law fitted to a curve: throughput at N is gamma N / (1 + alpha (N - 1) + beta N (N - 1)).
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "ScalingLaw")]
pub struct Fit {
    /// Throughput of one.
    pub gamma: f64,
    /// Contention, and its 95 % interval.
    pub alpha: f64,
    /// 95 % interval of alpha.
    pub alpha_interval: Range,
    /// True if alpha is held at 0 or 1: a share cannot be less or more.
    pub alpha_is_held: bool,
    /// Coherency.
    pub beta: f64,
    /// 95 % interval of beta.
    pub beta_interval: Range,
    /// Share of the variation that the law explains.
    pub r_squared: f64,
    /// The N of the best throughput for its response time.
    pub knee: Option<f64>,
    /// Its 95 % interval; the upper end may be missing when there is none.
    pub knee_interval: Option<[Option<f64>; 2]>,
    /// The N of the maximum throughput.
    pub peak: Option<f64>,
    /// Its 95 % interval; the upper end may be missing when there is none.
    pub peak_interval: Option<[Option<f64>; 2]>,
}

/// The best cell, and those that may be as good.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct BestCell {
    /// The best.
    pub cell: String,
    /// Its mean.
    pub mean: f64,
    /// Cells not distinguishable from it, with adjusted p values.
    pub as_good: Vec<(String, f64)>,
    /// Cells with too few runs to be distinguished.
    pub unknown: Vec<String>,
    /// True if p values come from all cells together, as so few runs alone are not enough.
    pub is_pooled: bool,
}

/// Two factors whose effects depend on each other.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Interaction")]
pub struct Together {
    /// The factors.
    pub factors: [String; 2],
    /// The adjusted p value.
    pub p: f64,
    /// By what factor the second changes the response from its first to its last level, for each level of the first.
    pub effects: Vec<(String, f64)>,
}

/// A run far from the others of its cell.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "StudyOutlier")]
pub struct Far {
    /// The run.
    pub run: String,
    /// Its block.
    pub block: usize,
    /// Its cell.
    pub cell: String,
    /// Its value over the median of its cell, without the differences between blocks.
    pub ratio: f64,
}

/// A cell whose runs have two modes.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "StudyModes")]
pub struct TwoModes {
    /// The cell.
    pub cell: String,
    /// Runs of the lower mode.
    pub low_runs: usize,
    /// Their mean.
    pub low: f64,
    /// Runs of the higher mode.
    pub high_runs: usize,
    /// Their mean.
    pub high: f64,
}

/// A run that failed.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "StudyFailure")]
pub struct Failure {
    /// The run.
    pub run: String,
    /// Its block.
    pub block: u32,
    /// Its cell.
    pub cell: String,
    /// Why.
    pub why: String,
    /// True if another try was finished.
    pub made_later: bool,
}
