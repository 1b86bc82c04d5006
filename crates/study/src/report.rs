//! Report of a study: every response by factor, with confidence intervals.

use fenxi_analyze::{
    Interval, Law, ScalingOfRuns, best, interaction, latency_knee, mean, mean_interval, outliers, paired_ratio,
    scaling_of_runs, two_modes, without_blocks,
};
use fenxi_model::Better;
use fenxi_store::Store;

use crate::{
    Asks, StudyError,
    collect::{Collected, Series, collect},
    plan::{Factor, Kind, StudyPlan},
    reported::{
        AtLevel, BestCell, Curve, Effect, EffectLevel, Failure, Far, Fit, LatencyKnee, OfCell, OfResponse, Point,
        Report, Together, TwoModes,
    },
    state::Record,
};

/// Probability that an interval holds the truth.
const LEVEL: f64 = 0.95;
/// The share of false findings that is accepted.
const ALPHA: f64 = 0.05;
/// Effects that differ by less than this share are of no interest.
const WORTH_KNOWING: f64 = 0.05;

/// Reports on the study that `plan` is and `record` describes; `asks` answers its questions about runs, if it has any.
///
/// # Errors
/// When the store cannot be read.
pub fn report(store: &Store, plan: &StudyPlan, record: &Record, asks: Option<&dyn Asks>) -> Result<Report, StudyError> {
    let all = collect(store, plan, record, asks)?;
    let done = |block: u32, cell: &str| {
        let place = all.design.cells.iter().position(|c| c.label == cell);
        place.is_some_and(|p| all.runs[p].get(block as usize - 1).is_some_and(Option::is_some))
    };
    let failure = |made: &crate::StudyRun| {
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
        against: against(plan, all, series),
        curves: curves(plan, all, series),
        knees: knees(plan, all, series),
        best: best_cell(all, series, &aligned),
        interactions,
        pairs_tested,
        outliers: outliers(&aligned).iter().map(far).collect(),
        modes: (0..all.design.cells.len()).filter_map(|cell| modes(all, series, cell)).collect(),
    }
}

fn modes(all: &Collected, series: &Series, cell: usize) -> Option<TwoModes> {
    let modes = two_modes(&known(&series.values[cell]))?;
    let cell = all.design.cells[cell].label.clone();
    Some(TwoModes { cell, low_runs: modes.low.0, low: modes.low.1, high_runs: modes.high.0, high: modes.high.1 })
}

/// Units of what cannot be negative: times, amounts, rates, shares.
const POSITIVE: [&str; 14] = ["s", "ms", "us", "µs", "ns", "B", "KiB", "MiB", "B/s", "/s", "%", "CPU", "J", "W"];

/// The interval of a cell's mean. A quantity that cannot be negative has no interval below 0: what of it is there holds no
/// possible mean.
fn interval_of(series: &Series, values: &[f64]) -> Option<Interval> {
    let interval = mean_interval(values, LEVEL)?;
    let is_positive =
        matches!(series.kind, Kind::Throughput | Kind::Latency) || POSITIVE.contains(&series.unit.as_str());
    let low =
        if is_positive && values.iter().all(|value| *value >= 0.0) { interval.low.max(0.0) } else { interval.low };
    Some(Interval { low, ..interval })
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
        interval: interval_of(series, &values).map(range),
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

/// Each level of the plan's reference factor against the reference, by the pairs of a block, at each combination of the others.
fn against(plan: &StudyPlan, all: &Collected, series: &Series) -> Vec<AtLevel> {
    let Some((name, reference)) = &plan.reference else { return Vec::new() };
    let Some(axis) = plan.factors.iter().position(|factor| factor.name == *name) else { return Vec::new() };
    let factor = &plan.factors[axis];
    let mut ratios = Vec::new();
    for (others, cells) in along(plan, all, axis) {
        let level = |cell: usize| &factor.levels[all.design.cells[cell].levels[axis]].name;
        let Some(base) = cells.iter().find(|cell| level(**cell) == reference) else { continue };
        for cell in cells.iter().filter(|cell| *cell != base) {
            let pairs = series.values[*base].iter().zip(&series.values[*cell]);
            let pairs: Vec<(f64, f64)> =
                pairs.filter(|(a, b)| !a.is_nan() && !b.is_nan()).map(|(a, b)| (*a, *b)).collect();
            let Some((ratio, interval)) = paired_ratio(&pairs, LEVEL) else { continue };
            ratios.push(AtLevel {
                factor: name.clone(),
                reference: reference.clone(),
                level: level(*cell).clone(),
                others: others.clone(),
                n: pairs.len(),
                ratio,
                interval: interval.map(range),
            });
        }
    }
    ratios
}

/// The cells along a factor, for each combination of the others, which is given as text.
fn along(plan: &StudyPlan, all: &Collected, axis: usize) -> Vec<(String, Vec<usize>)> {
    let name = &plan.factors[axis].name;
    let mut groups: Vec<(String, Vec<usize>)> = Vec::new();
    for (place, cell) in all.design.cells.iter().enumerate() {
        let others = cell.levels(plan).filter(|(factor, _)| factor != name);
        let others: Vec<String> = others.map(|(factor, level)| format!("{factor}={}", level.name)).collect();
        let others = others.join(" ");
        match groups.iter_mut().find(|(known, _)| *known == others) {
            Some((_, cells)) => cells.push(place),
            None => groups.push((others, vec![place])),
        }
    }
    groups
}

/// The same in the order of the factor's numbers, with these.
fn along_numbers(plan: &StudyPlan, all: &Collected, axis: usize) -> Vec<(String, Vec<(usize, f64)>)> {
    let levels = &plan.factors[axis].levels;
    let number = |cell: usize| levels[all.design.cells[cell].levels[axis]].number.unwrap_or(f64::NAN);
    let ordered = |(others, cells): (String, Vec<usize>)| {
        let mut cells: Vec<(usize, f64)> = cells.into_iter().map(|cell| (cell, number(cell))).collect();
        cells.sort_by(|a, b| a.1.total_cmp(&b.1));
        (others, cells)
    };
    along(plan, all, axis).into_iter().map(ordered).collect()
}

/// Along the factor that is a degree of parallelism, one curve for each combination of the others.
fn curves(plan: &StudyPlan, all: &Collected, series: &Series) -> Vec<Curve> {
    let is_axis = |factor: &Factor| plan.scaling.as_ref() == Some(&factor.name);
    let Some(axis) = plan.factors.iter().position(is_axis) else { return Vec::new() };
    let mut curves = Vec::new();
    for (others, cells) in along_numbers(plan, all, axis) {
        let Some(first) = cells.first().copied() else { continue };
        let points: Vec<Point> =
            cells.iter().map(|(cell, level)| point(series, *cell, first.0, *level, first.1)).collect();
        let [usl, amdahl] = [Law::Usl, Law::Amdahl].map(|law| fit(series, &cells, law));
        curves.push(Curve { factor: plan.factors[axis].name.clone(), others, points, usl, amdahl });
    }
    curves
}

/// Where a latency begins to grow fast, along the numeric factor with most levels: over the first throughput that there is.
fn knees(plan: &StudyPlan, all: &Collected, series: &Series) -> Vec<LatencyKnee> {
    let throughput = all.series.iter().find(|other| other.kind == Kind::Throughput);
    let (Kind::Latency, Some(throughput)) = (series.kind, throughput) else { return Vec::new() };
    let numeric = |axis: &usize| plan.factors[*axis].is_numeric();
    let axis = (0..plan.factors.len()).filter(numeric).max_by_key(|axis| plan.factors[*axis].levels.len());
    let Some(axis) = axis else { return Vec::new() };
    let mut knees = Vec::new();
    for (others, cells) in along_numbers(plan, all, axis) {
        // Blocks in which every point has both.
        let pair = |cell: usize, block: usize| (throughput.values[cell][block], series.values[cell][block]);
        let is_whole = |block: &usize| {
            cells.iter().map(|(cell, _)| pair(*cell, *block)).all(|(x, y)| x.is_finite() && y.is_finite())
        };
        let blocks: Vec<usize> = (0..plan.repeats as usize).filter(is_whole).collect();
        let points: Vec<Vec<(f64, f64)>> =
            cells.iter().map(|(cell, _)| blocks.iter().map(|block| pair(*cell, *block)).collect()).collect();
        let Some(knee) = latency_knee(&points) else { continue };
        knees.push(LatencyKnee {
            factor: plan.factors[axis].name.clone(),
            others,
            level: cells[knee.place].1,
            throughput: knee.throughput,
            throughput_unit: throughput.unit.clone(),
            interval: (blocks.len() > 1).then(|| range(knee.interval)),
            beyond_peak: cells[cells.len() - knee.beyond_peak..].iter().map(|(_, level)| *level).collect(),
        });
    }
    knees
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

fn fit(series: &Series, cells: &[(usize, f64)], law: Law) -> Option<Fit> {
    let runs = |(cell, level): &(usize, f64)| {
        let values = known(&series.values[*cell]).iter().map(|v| throughput(series, *v)).collect::<Option<Vec<f64>>>();
        values.map(|values| (*level, values))
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
