//! Report of a study: every response by factor, with confidence intervals.

use fenxi_analyze::{
    Interval, Law, ScalingOfRuns, best, interaction, mean, mean_interval, outliers, paired_ratio, scaling_of_runs,
    without_blocks,
};
use fenxi_model::Better;
use fenxi_store::Store;
use serde::Serialize;

use crate::{
    Asks, StudyError,
    collect::{Collected, Series, collect},
    plan::{Kind, StudyPlan},
    state::Record,
};

/// Probability that an interval holds the truth.
const LEVEL: f64 = 0.95;
/// The share of false findings that is accepted.
const ALPHA: f64 = 0.05;
/// Effects that differ by less than this share are of no interest.
const WORTH_KNOWING: f64 = 0.05;

/// From where to where.
pub type Range = Option<[f64; 2]>;

/// What a study came to.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Name of the study.
    pub study: String,
    /// What it is about.
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

/// What one response came to.
#[derive(Clone, Debug, Serialize)]
pub struct OfResponse {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// `higher`, `lower` or `neither` is good.
    pub better: String,
    /// Whether it is work per time.
    pub is_throughput: bool,
    /// Whether it is the time of one of many operations.
    pub is_latency: bool,
    /// Each cell, in the order of the plan.
    pub cells: Vec<OfCell>,
    /// Each factor alone, over all levels of the others.
    pub effects: Vec<Effect>,
    /// Along the numeric factor, for each combination of the others.
    pub curves: Vec<Curve>,
    /// The best cell.
    pub best: Option<BestCell>,
    /// Pairs of factors whose effects depend on each other.
    pub interactions: Vec<Together>,
    /// Pairs of factors that were tested for it: with a run in every cell of two blocks.
    pub pairs_tested: usize,
    /// Runs far from the others of their cell.
    pub outliers: Vec<Far>,
}

/// One cell of a response.
#[derive(Clone, Debug, Serialize)]
pub struct OfCell {
    /// The cell.
    pub cell: String,
    /// Runs of it.
    pub n: usize,
    /// Their mean.
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
#[derive(Clone, Debug, Serialize)]
pub struct Effect {
    /// The factor.
    pub factor: String,
    /// Each level: the mean over the other factors (geometric), and by what factor it differs from the first.
    pub levels: Vec<EffectLevel>,
}

/// A level of a factor alone.
#[derive(Clone, Debug, Serialize)]
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

/// A response along a numeric factor.
#[derive(Clone, Debug, Serialize)]
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
#[derive(Clone, Debug, Serialize)]
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
#[derive(Clone, Debug, Serialize)]
pub struct Fit {
    /// Throughput of one.
    pub gamma: f64,
    /// Contention, and its 95 % interval.
    pub alpha: f64,
    /// 95 % interval of alpha.
    pub alpha_interval: Range,
    /// Whether alpha is held at 0 or 1: a share cannot be less or more.
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
    /// The N of the greatest throughput.
    pub peak: Option<f64>,
    /// Its 95 % interval; the upper end may be missing when there is none.
    pub peak_interval: Option<[Option<f64>; 2]>,
}

/// The best cell, and those that may be as good.
#[derive(Clone, Debug, Serialize)]
pub struct BestCell {
    /// The best.
    pub cell: String,
    /// Its mean.
    pub mean: f64,
    /// Cells not distinguishable from it, with adjusted p values.
    pub as_good: Vec<(String, f64)>,
    /// Cells with too few runs to be told apart.
    pub unknown: Vec<String>,
    /// Whether p values come from all cells together, as so few runs alone could tell nothing.
    pub is_pooled: bool,
}

/// Two factors whose effects depend on each other.
#[derive(Clone, Debug, Serialize)]
pub struct Together {
    /// The factors.
    pub factors: [String; 2],
    /// The adjusted p value.
    pub p: f64,
    /// By what factor the second changes the response from its first to its last level, for each level of the first.
    pub effects: Vec<(String, f64)>,
}

/// A run far from the others of its cell.
#[derive(Clone, Debug, Serialize)]
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

/// A run that failed.
#[derive(Clone, Debug, Serialize)]
pub struct Failure {
    /// The run.
    pub run: String,
    /// Its block.
    pub block: u32,
    /// Its cell.
    pub cell: String,
    /// Why.
    pub why: String,
    /// Whether another try was finished.
    pub made_later: bool,
}

/// Reports on the study that `plan` is and `record` tells of; `asks` answers its questions about runs, if it has any.
///
/// # Errors
/// When the store cannot be read.
pub fn report(store: &Store, plan: &StudyPlan, record: &Record, asks: Option<&dyn Asks>) -> Result<Report, StudyError> {
    let all = collect(store, plan, record, asks)?;
    let done = |block: u32, cell: &str| {
        let place = all.design.cells.iter().position(|c| c.label == cell);
        place.is_some_and(|p| all.runs[p].get(block as usize - 1).is_some_and(Option::is_some))
    };
    let failure = |made: &crate::Made| {
        let unanswered = || all.unanswered.iter().find(|(run, _)| *run == made.run).map(|(_, why)| why.clone());
        let (run, why) = (made.run.to_string(), made.failed.clone().or_else(unanswered)?);
        Some(Failure {
            run,
            block: made.block,
            cell: made.cell.clone(),
            why,
            made_later: made.failed.is_some() && done(made.block, &made.cell),
        })
    };
    Ok(Report {
        study: plan.name.clone(),
        about: plan.about.clone(),
        seed: record.seed,
        blocks: plan.repeats,
        cells: all.design.cells.len(),
        finished: all.runs.iter().flatten().flatten().count(),
        responses: all.series.iter().map(|series| of_response(plan, &all, series)).collect(),
        failures: all.made.iter().filter_map(failure).collect(),
    })
}

fn range(interval: Interval) -> [f64; 2] {
    [interval.low, interval.high]
}

fn known(values: &[f64]) -> Vec<f64> {
    values.iter().copied().filter(|v| !v.is_nan()).collect()
}

fn mean_known(values: &[f64]) -> Option<f64> {
    let known = known(values);
    (!known.is_empty()).then(|| mean(&known))
}

fn of_response(plan: &StudyPlan, all: &Collected, series: &Series) -> OfResponse {
    let aligned = without_blocks(&series.values);
    let (interactions, pairs_tested) = interactions(plan, all, series);
    let far = |o: &fenxi_analyze::Outlier| Far {
        run: all.runs[o.group][o.place].as_ref().map_or(String::new(), ToString::to_string),
        block: o.place + 1,
        cell: all.design.cells[o.group].label.clone(),
        ratio: o.ratio,
    };
    OfResponse {
        name: series.name.clone(),
        unit: series.unit.clone(),
        better: series.better.to_string(),
        is_throughput: series.kind == Kind::Throughput,
        is_latency: series.kind == Kind::Latency,
        cells: (0..all.design.cells.len()).map(|cell| of_cell(all, series, cell)).collect(),
        effects: (0..plan.factors.len()).filter_map(|factor| effect(plan, all, series, factor)).collect(),
        curves: curves(plan, all, series),
        best: best_cell(all, series, &aligned),
        interactions,
        pairs_tested,
        outliers: outliers(&aligned).iter().map(far).collect(),
    }
}

fn of_cell(all: &Collected, series: &Series, cell: usize) -> OfCell {
    let values = known(&series.values[cell]);
    // Work done is throughput times the time it was kept up.
    let per_unit = |block: usize| {
        all.machine_cpu.values[cell][block] / (series.values[cell][block] * all.elapsed.values[cell][block])
    };
    let per_unit: Vec<f64> = (0..series.values[cell].len()).map(per_unit).collect();
    OfCell {
        cell: all.design.cells[cell].label.clone(),
        n: values.len(),
        mean: if values.is_empty() { f64::NAN } else { mean(&values) },
        interval: mean_interval(&values, LEVEL).map(range),
        command_cpu_s: mean_known(&all.command_cpu.values[cell]),
        machine_cpu_s: mean_known(&all.machine_cpu.values[cell]),
        cpu_s_per_unit: (series.kind == Kind::Throughput).then(|| mean_known(&per_unit)).flatten(),
    }
}

/// The mean logarithm of the runs of a block whose cell has these levels; None when one of them is missing.
fn mean_log(all: &Collected, series: &Series, block: usize, levels: &[(usize, usize)]) -> Option<f64> {
    let cells = all.design.cells.iter().enumerate();
    let chosen = cells.filter(|(_, cell)| levels.iter().all(|(factor, level)| cell.levels[*factor] == *level));
    let values: Vec<f64> = chosen.map(|(place, _)| series.values[place][block]).collect();
    let whole = !values.is_empty() && values.iter().all(|v| *v > 0.0);
    whole.then(|| values.iter().map(|v| v.ln()).sum::<f64>() / values.len() as f64)
}

/// A factor over all levels of the others; None where there is nothing to compare, or only this factor.
fn effect(plan: &StudyPlan, all: &Collected, series: &Series, factor: usize) -> Option<Effect> {
    let n_levels = plan.factors[factor].levels.len();
    let is_full = all.design.cells.len() == plan.factors.iter().map(|f| f.levels.len()).product::<usize>();
    if n_levels < 2 || plan.factors.len() < 2 || !is_full {
        return None;
    }
    let blocks = plan.repeats as usize;
    let of = |level: usize| -> Vec<Option<f64>> {
        (0..blocks).map(|block| mean_log(all, series, block, &[(factor, level)]).map(f64::exp)).collect()
    };
    let first = of(0);
    let mut levels = Vec::new();
    for (place, level) in plan.factors[factor].levels.iter().enumerate() {
        let values = of(place);
        let pairs: Vec<(f64, f64)> = first.iter().zip(&values).filter_map(|(a, b)| Some(((*a)?, (*b)?))).collect();
        let (ratio, ratio_interval) = paired_ratio(&pairs, LEVEL)?;
        let logs: Vec<f64> = values.iter().flatten().map(|v| v.ln()).collect();
        levels.push(EffectLevel {
            level: level.name.clone(),
            mean: mean(&logs).exp(),
            interval: mean_interval(&logs, LEVEL).map(|i| [i.low.exp(), i.high.exp()]),
            ratio,
            ratio_interval: ratio_interval.filter(|_| place > 0).map(range),
        });
    }
    Some(Effect { factor: plan.factors[factor].name.clone(), levels })
}

/// Along the numeric factor with the most levels, one curve for each combination of the others.
fn curves(plan: &StudyPlan, all: &Collected, series: &Series) -> Vec<Curve> {
    let numeric = plan.factors.iter().enumerate().filter(|(_, f)| f.is_numeric() && f.levels.len() > 1);
    // The first of those with most levels.
    let Some((axis, factor)) = numeric.rev().max_by_key(|(_, f)| f.levels.len()) else { return Vec::new() };
    let mut groups: Vec<(Vec<usize>, Vec<usize>)> = Vec::new();
    for (place, cell) in all.design.cells.iter().enumerate() {
        let mut others = cell.levels.clone();
        others.remove(axis);
        match groups.iter_mut().find(|(known, _)| *known == others) {
            Some((_, cells)) => cells.push(place),
            None => groups.push((others, vec![place])),
        }
    }
    let level = |cell: usize| factor.levels[all.design.cells[cell].levels[axis]].number.unwrap_or(f64::NAN);
    let mut curves = Vec::new();
    for (_, mut cells) in groups {
        cells.sort_by(|a, b| level(*a).total_cmp(&level(*b)));
        let Some(first) = cells.first().copied() else { continue };
        let others: Vec<String> = all.design.cells[first]
            .levels(plan)
            .filter(|(name, _)| *name != factor.name)
            .map(|(name, level)| format!("{name}={}", level.name))
            .collect();
        let points: Vec<Point> =
            cells.iter().map(|cell| point(series, *cell, first, level(*cell), level(first))).collect();
        let [usl, amdahl] = [Law::Usl, Law::Amdahl].map(|law| fit(series, &cells, &level, law));
        curves.push(Curve { factor: factor.name.clone(), others: others.join(" "), points, usl, amdahl });
    }
    curves
}

/// A value as a throughput: of the time of a whole run, its inverse.
fn throughput(series: &Series, value: f64) -> Option<f64> {
    match series.kind {
        Kind::Throughput => Some(value),
        Kind::Elapsed => Some(1.0 / value),
        Kind::Latency | Kind::Other => None,
    }
}

fn point(series: &Series, cell: usize, first: usize, level: f64, first_level: f64) -> Point {
    let pair = |(a, b): (&f64, &f64)| {
        (!a.is_nan() && !b.is_nan()).then(|| Some((throughput(series, *a)?, throughput(series, *b)?)))?
    };
    let pairs: Vec<(f64, f64)> = series.values[first].iter().zip(&series.values[cell]).filter_map(pair).collect();
    let (speedup, interval) = paired_ratio(&pairs, LEVEL).map_or((None, None), |(ratio, i)| (Some(ratio), i));
    Point {
        level,
        cell,
        speedup,
        speedup_interval: interval.filter(|_| cell != first).map(range),
        efficiency: speedup.filter(|_| first_level > 0.0).map(|s| s / (level / first_level)),
    }
}

fn fit(series: &Series, cells: &[usize], level: &dyn Fn(usize) -> f64, law: Law) -> Option<Fit> {
    let runs = |cell: &usize| {
        let values = known(&series.values[*cell]).iter().map(|v| throughput(series, *v)).collect::<Option<Vec<f64>>>();
        values.map(|values| (level(*cell), values))
    };
    let levels: Vec<(f64, Vec<f64>)> = cells.iter().map(runs).collect::<Option<_>>()?;
    let ScalingOfRuns { law, knee, peak } = scaling_of_runs(&levels, law)?;
    let ends = |i: Interval| [i.low, i.high].map(|end| end.is_finite().then_some(end));
    Some(Fit {
        gamma: law.gamma,
        alpha: law.alpha,
        alpha_interval: Some(range(law.intervals[1])),
        alpha_is_held: law.alpha <= 0.0 || law.alpha >= 1.0,
        beta: law.beta,
        beta_interval: Some(range(law.intervals[2])),
        r_squared: law.r_squared,
        knee: knee.map(|(n, _)| n),
        knee_interval: knee.map(|(_, i)| ends(i)),
        peak: peak.map(|(n, _)| n),
        peak_interval: peak.map(|(_, i)| ends(i)),
    })
}

fn best_cell(all: &Collected, series: &Series, aligned: &[Vec<f64>]) -> Option<BestCell> {
    let groups: Vec<Vec<f64>> = aligned.iter().map(|values| known(values)).collect();
    if groups.len() < 2 || series.better == Better::Neither {
        return None;
    }
    let found = best(&groups, series.better, ALPHA)?;
    let label = |place: usize| all.design.cells[place].label.clone();
    let others = || (0..groups.len()).filter(|place| *place != found.place);
    Some(BestCell {
        cell: label(found.place),
        mean: mean_known(&series.values[found.place])?,
        as_good: others().filter(|p| found.p[*p] > ALPHA).map(|p| (label(p), found.p[p])).collect(),
        unknown: others().filter(|p| found.p[*p].is_nan()).map(label).collect(),
        is_pooled: found.is_pooled,
    })
}

/// Pairs of factors whose effects depend on each other, by tests within blocks, adjusted for their number; and how
/// many pairs were tested.
fn interactions(plan: &StudyPlan, all: &Collected, series: &Series) -> (Vec<Together>, usize) {
    let mut tested = Vec::new();
    for a in 0..plan.factors.len() {
        for b in a + 1..plan.factors.len() {
            if let Some((p, effects)) = together(plan, all, series, a, b) {
                tested.push((p, Together { factors: [a, b].map(|f| plan.factors[f].name.clone()), p, effects }));
            }
        }
    }
    let adjusted = fenxi_analyze::benjamini_hochberg(&tested.iter().map(|(p, _)| *p).collect::<Vec<_>>());
    let counts = |together: &Together| {
        let most = together.effects.iter().map(|(_, ratio)| *ratio).fold(0.0, f64::max);
        let least = together.effects.iter().map(|(_, ratio)| *ratio).fold(f64::INFINITY, f64::min);
        most > least * (1.0 + WORTH_KNOWING)
    };
    let n_tested = tested.len();
    let found = tested.into_iter().zip(adjusted).filter(|((_, together), p)| *p <= ALPHA && counts(together));
    (found.map(|((_, together), p)| Together { p, ..together }).collect(), n_tested)
}

fn together(
    plan: &StudyPlan,
    all: &Collected,
    series: &Series,
    a: usize,
    b: usize,
) -> Option<(f64, Vec<(String, f64)>)> {
    let (of_a, of_b) = (&plan.factors[a].levels, &plan.factors[b].levels);
    let is_full = all.design.cells.len() == plan.factors.iter().map(|f| f.levels.len()).product::<usize>();
    let log = |i, j, block| mean_log(all, series, block, &[(a, i), (b, j)]);
    let whole = |block: &usize| (0..of_a.len()).all(|i| (0..of_b.len()).all(|j| log(i, j, *block).is_some()));
    let blocks: Vec<usize> = (0..plan.repeats as usize).filter(whole).collect();
    if !is_full {
        return None;
    }
    let runs = |i, j| blocks.iter().filter_map(|block| log(i, j, *block)).collect::<Vec<f64>>();
    let values: Vec<Vec<Vec<f64>>> = (0..of_a.len()).map(|i| (0..of_b.len()).map(|j| runs(i, j)).collect()).collect();
    let found = interaction(&values)?;
    let effect = |i: usize| (mean(&values[i][of_b.len() - 1]) - mean(&values[i][0])).exp();
    Some((found.p, of_a.iter().enumerate().map(|(i, level)| (level.name.clone(), effect(i))).collect()))
}
