//! Data of a study, collected from its runs: each response by cell and block, and CPU time.

use std::collections::{BTreeMap, BTreeSet};

use fenxi_model::{Better, RunId};
use fenxi_store::{Store, StoreError};

use crate::{
    Asks, StudyError,
    ask::answer,
    design::Design,
    plan::{From, Kind, StudyPlan},
    state::{Record, StudyRun, finished, made},
};

/// One response of all runs.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) unit: String,
    pub(crate) better: Better,
    pub(crate) kind: Kind,
    /// By cell and block; NaN where there is none.
    pub(crate) values: Vec<Vec<f64>>,
}

/// A study's numbers.
#[derive(Debug)]
pub(crate) struct Collected {
    pub(crate) design: Design,
    pub(crate) series: Vec<Series>,
    /// CPU seconds that the command and its descendants used.
    pub(crate) command_cpu: Series,
    /// CPU seconds that the whole machine used meanwhile.
    pub(crate) machine_cpu: Series,
    /// Seconds that the command took.
    pub(crate) elapsed: Series,
    pub(crate) runs: Vec<Vec<Option<RunId>>>,
    pub(crate) made: Vec<StudyRun>,
    /// Finished runs without an answer to a question, and why.
    pub(crate) unanswered: Vec<(RunId, String)>,
}

/// A result of a run: value, unit, and which direction is good.
type Results = BTreeMap<String, (f64, String, Better)>;

pub(crate) fn collect(
    store: &Store,
    plan: &StudyPlan,
    record: &Record,
    asks: Option<&dyn Asks>,
) -> Result<Collected, StudyError> {
    let design = Design::new(plan, record.seed)?;
    let made = made(store, record)?;
    let blank = vec![vec![f64::NAN; plan.repeats as usize]; design.cells.len()];
    let own = |name: &str| Series {
        name: name.to_owned(),
        unit: "s".to_owned(),
        better: Better::Lower,
        kind: Kind::Other,
        values: blank.clone(),
    };
    let (mut command_cpu, mut machine_cpu, mut elapsed) = (own("cpu_command"), own("cpu_machine"), own("elapsed"));
    let mut series: Vec<Series> = plan
        .responses
        .iter()
        .map(|r| Series {
            name: r.name.clone(),
            unit: r.unit.clone(),
            better: r.better.unwrap_or(Better::Neither),
            ..own("")
        })
        .collect();
    let mut unanswered = Vec::new();
    let mut runs = vec![vec![None; plan.repeats as usize]; design.cells.len()];
    let done = finished(&made);
    for slot in &design.order {
        let (cell, block) = (slot.cell, slot.block as usize - 1);
        let Some(made) = done.get(&(slot.block, design.cells[cell].label.as_str())) else { continue };
        let results = results(store, &made.run)?;
        let value = |name: &str| results.get(name).map(|(value, ..)| *value);
        for (series, response) in series.iter_mut().zip(&plan.responses) {
            let answered;
            let found = match &response.from {
                From::Asked(asked) => match answer(plan, asks, &made.run, response, asked) {
                    Ok(answer) => {
                        answered = (answer.value, answer.unit, Better::Neither);
                        Some(&answered)
                    }
                    Err(why) => {
                        unanswered.push((made.run.clone(), why));
                        None
                    }
                },
                _ => results.get(response.result_name()),
            };
            let Some((value, unit, better)) = found else { continue };
            series.values[cell][block] = *value;
            if response.unit.is_empty() {
                series.unit.clone_from(unit);
            }
            series.better = response.better.unwrap_or(*better);
        }
        let cpu = value("user_time").zip(value("system_time")).map(|(user, system)| user + system);
        command_cpu.values[cell][block] = cpu.unwrap_or(f64::NAN);
        elapsed.values[cell][block] = value("elapsed").unwrap_or(f64::NAN);
        machine_cpu.values[cell][block] = machine(store, &made.run, made.seconds)?.unwrap_or(f64::NAN);
        runs[cell][block] = Some(made.run.clone());
    }
    for (series, response) in series.iter_mut().zip(&plan.responses) {
        series.kind = response.kind(&series.unit, series.better);
    }
    Ok(Collected { design, series, command_cpu, machine_cpu, elapsed, runs, made, unanswered })
}

/// CPU seconds that all CPUs of the machine were busy in a run of `seconds`; None when it did not sample them.
fn machine(store: &Store, run: &RunId, seconds: f64) -> Result<Option<f64>, StoreError> {
    let (mut cpus, mut idle, mut iowait) = (BTreeSet::new(), None, 0.0);
    store.series_stats(run, None, |stat| match (stat.table, stat.key, stat.column) {
        ("cpu", "", "idle") => idle = Some(stat.mean),
        ("cpu", "", "iowait") => iowait = stat.mean,
        ("cpu", key, "idle") => {
            cpus.insert(key.to_owned());
        }
        _ => {}
    })?;
    Ok(idle.filter(|_| !cpus.is_empty()).map(|idle| (100.0 - idle - iowait) / 100.0 * cpus.len() as f64 * seconds))
}

/// The results of a run by name; the first where a name is there twice, as the command's own are last.
fn results(store: &Store, run: &RunId) -> Result<Results, StoreError> {
    let mut results = Results::new();
    for result in store.results(run)? {
        results.entry(result.name).or_insert((result.value, result.unit, result.better));
    }
    Ok(results)
}
