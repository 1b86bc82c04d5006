//! The answer first: what was found in the order of what it explains, and one sentence that names the bottleneck.

use fenxi_analyze::{KINDS, RESIDUAL, kind_name};
use fenxi_model::RunId;
use fenxi_query::{Answer as Rows, Engine, Found, Kind, Occurrence, QueryError, Scope, rank};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{CompareError, Explained, Part, Split, unknown};

/// What is known of runs, the answer first.
pub struct Diagnosis {
    /// The bottleneck, or that none is seen.
    pub answer: Answer,
    /// What was found: causes before symptoms, what explains most first.
    pub found: Vec<Found>,
    /// Whether a run has several hosts, so that sentences must name theirs.
    pub several_hosts: bool,
}

/// What an answer names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Names {
    /// What was found as the cause.
    Bottleneck,
    /// What shows that something is wrong, without a cause.
    Symptom,
    /// Nothing is wrong, and all was seen: where most of the time went, or which resource was busiest.
    Nothing,
    /// No cause is known: who used most, what is largest, and what was not seen.
    Unknown,
}

/// One sentence that names the bottleneck, and what is behind it.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Answer {
    /// What it names.
    pub names: Names,
    /// The sentence.
    pub text: String,
    /// What was seen, and what would tell more.
    pub detail: String,
    /// The finding that it is taken from.
    pub finding: Option<String>,
}

impl Diagnosis {
    /// Lets all findings look at the runs of `scope`, and orders what they find by what it explains of the runs' latency.
    ///
    /// # Errors
    /// When findings of the store cannot be read, or the runs. A finding that fails stands among what was found.
    pub fn of(engine: &Engine, scope: &Scope) -> Result<Diagnosis, CompareError> {
        let mut found = engine.find_all(scope)?;
        let runs = scope.runs.clone().unwrap_or_default();
        let splits = splits(engine, &runs, scope)?;
        let share = |found: &Found| {
            let said = |run: &RunId| found.outcome.iter().flatten().any(|o| o.run == run.as_str());
            let of = splits.iter().filter(|(run, _)| said(run));
            of.filter_map(|(_, split)| share_of(split, &found.finding.parts)).reduce(f64::max)
        };
        rank(&mut found, share);
        let several_hosts =
            runs.iter().any(|run| engine.store().run(run).is_ok_and(|entry| entry.manifest.hosts.len() > 1));
        let answer = answer(engine, scope, &found, splits.first().map(|(_, split)| split), several_hosts)?;
        Ok(Diagnosis { answer, found, several_hosts })
    }
}

/// Where the time of each run went, of those that tell. A part of a run has no split of its own.
fn splits(engine: &Engine, runs: &[RunId], scope: &Scope) -> Result<Vec<(RunId, Split)>, CompareError> {
    let mut splits = Vec::new();
    for run in runs.iter().filter(|_| scope.part.is_none()) {
        let entry = engine.store().run(run)?;
        if ["load", "result"].iter().any(|table| entry.manifest.file(table).is_some()) {
            let split = Explained::of(engine, [run.as_str()], "auto")?.split;
            splits.extend(split.map(|split| (run.clone(), split)));
        }
    }
    Ok(splits)
}

/// The share of a latency that `names` have, from 0 to 1. None where one of them is unknown, or the split is none of a latency.
fn share_of(split: &Split, names: &[String]) -> Option<f64> {
    if split.what != "latency" {
        return None;
    }
    let known = |name: &str| match split.parts.iter().find(|part| part.name == name) {
        Some(part) => part.shares[0],
        None => split.absent.contains(&name).then_some(0.0),
    };
    let whole = |name: &str| KINDS.iter().find(|kind| kind.name == name).and_then(|kind| kind.whole);
    let of = |name: &String| {
        let shares: Vec<f64> =
            KINDS.iter().filter(|kind| kind.whole == Some(name)).filter_map(|kind| known(kind.name)).collect();
        let sum = || (!shares.is_empty()).then(|| shares.iter().sum());
        known(name).or_else(sum).or_else(|| known(whole(name)?))
    };
    let shares: Option<Vec<f64>> = names.iter().map(of).collect();
    shares.map(|shares| shares.iter().sum::<f64>().clamp(0.0, 1.0))
}

fn answer(
    engine: &Engine,
    scope: &Scope,
    found: &[Found],
    split: Option<&Split>,
    several_hosts: bool,
) -> Result<Answer, QueryError> {
    let first = |kind: Kind| found.iter().find(|found| found.outcome.is_ok() && found.kind() == kind);
    let (problem, symptom) = (first(Kind::Problem), first(Kind::Symptom));
    let all = found;
    let Some(found) = problem.or(symptom) else {
        let most = split.filter(|split| split.tells()).and_then(most_of);
        return unknown::answer(engine, scope, (split, most), &busiest(engine, scope, several_hosts)?);
    };
    let share = found.impact().map(|impact| format!(": {} of {}", percent(impact.share), impact.of));
    let title = format!("{}{}", found.finding.title, share.unwrap_or_default());
    let (names, text, excluded) = match problem {
        Some(_) => (Names::Bottleneck, format!("{title}."), String::new()),
        None => {
            let (words, excluded) = unknown::cause(engine, scope, found, all)?;
            (Names::Symptom, format!("{title}. {words}"), excluded)
        }
    };
    let said = |o: &Occurrence| {
        // What stands in the first sentence does not stand in the second.
        let named = o.named().filter(|_| names == Names::Symptom).unwrap_or_default();
        let says = o.says.strip_suffix(named).unwrap_or(&o.says).trim_end();
        match o.host.as_ref().filter(|_| several_hosts) {
            Some(host) => format!("{host}: {says}"),
            None => says.to_owned(),
        }
    };
    let said = found.outcome.iter().flatten().next().map(said);
    let detail: Vec<String> = said.into_iter().chain(Some(excluded).filter(|text| !text.is_empty())).collect();
    Ok(Answer { names, text, detail: detail.join(" "), finding: Some(found.finding.name.clone()) })
}

/// What most of a time went to, in words.
fn most_of(split: &Split) -> Option<String> {
    let share = |part: &Part| part.shares[0].unwrap_or(0.0);
    if split.what == "elapsed" {
        let is_cpu = |part: &&Part| part.name.starts_with(kind_name::CPU);
        let on_cpu: f64 = split.parts.iter().filter(is_cpu).map(share).sum();
        let waited = split.parts.iter().filter(|part| !is_cpu(part));
        let most = waited.max_by(|a, b| share(a).total_cmp(&share(b))).filter(|part| share(part) >= 0.1);
        let times = format!("CPU time is {} of the elapsed time", percent(on_cpu));
        return Some(match most {
            Some(part) if part.name == RESIDUAL => {
                format!("{times}; for what the command waited, `fenxi trace profile -- COMMAND` shows.")
            }
            Some(part) => format!("{times}, {} of it {}.", percent(share(part)), part.name),
            None => format!("{times}."),
        });
    }
    let greatest = split.parts.iter().max_by(|a, b| share(a).total_cmp(&share(b)))?;
    let of = percent(share(greatest));
    Some(match greatest.name {
        RESIDUAL => format!("{of} of the latency of a transaction is not accounted for."),
        name => format!("{of} of the latency of a transaction is {name}."),
    })
}

/// The resources that were fullest, in words.
fn busiest(engine: &Engine, scope: &Scope, several_hosts: bool) -> Result<String, QueryError> {
    let name = if several_hosts { "host || ': ' || resource" } else { "resource" };
    let sql = format!(
        "SELECT resource, mean, most FROM ( \
             SELECT {name} AS resource, place, wmean(value, dt) AS mean, max(value) AS most FROM resource_use \
             WHERE kind = 'utilisation' GROUP BY place, {name} \
         ) WHERE mean IS NOT NULL ORDER BY CASE WHEN place IN (10, 11) THEN 0 ELSE 1 END, mean DESC, resource LIMIT 5"
    );
    engine.say_once("busiest", &sql, scope, in_words)
}

fn in_words(answer: &Rows) -> String {
    let (names, means, most) = (answer.strings("resource"), answer.f64s("mean"), answer.f64s("most"));
    let one = |((name, mean), most): ((Option<String>, Option<f64>), Option<f64>)| {
        Some(format!("{} {} (at most {})", name?, percent(mean? / 100.0), percent(most? / 100.0)))
    };
    let told: Vec<String> = names.into_iter().zip(means).zip(most).filter_map(one).collect();
    if told.is_empty() { String::new() } else { format!("Mean use: {}.", told.join(", ")) }
}

/// A share from 0 to 1 in percent, with two digits or more: finer figures of a share mean nothing.
pub fn percent(share: f64) -> String {
    let pct = 100.0 * share;
    if pct.abs() >= 0.05 && pct.abs() < 9.95 {
        format!("{pct:.1}%")
    } else {
        format!("{:.0}%", if pct.abs() < 0.05 { 0.0 } else { pct })
    }
}
