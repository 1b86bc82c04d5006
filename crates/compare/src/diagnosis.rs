//! The answer first: what was found in the order of what it explains, and one sentence that names the bottleneck.

use std::collections::BTreeSet;

use fenxi_analyze::{KINDS, RESIDUAL, kind_name, whole};
use fenxi_query::{
    Answer as Rows, DB_TIME, Engine, Found, Impact, Kind, LATENCY, Occurrence, QUEUE, QueryError, SERVICE, Scope,
    Splits, rank,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{CompareError, Part, Split, range_change::is_large, times::times, unknown};

/// Diagnosis of runs: the answer, findings, and splits of time.
pub struct Diagnosis {
    /// The bottleneck, or that none is seen.
    pub answer: Answer,
    /// Findings: causes before symptoms, ordered by the share they explain.
    pub found: Vec<Found>,
    /// True if a run has several hosts, so that sentences must name theirs.
    pub several_hosts: bool,
    /// Of a part of a run: names of findings that the rest of it has as well. None where nothing else was looked at.
    pub elsewhere: Option<BTreeSet<String>>,
}

/// Kind of answer: bottleneck, symptom, or none.
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
    /// Kind of answer.
    pub names: Names,
    /// The sentence.
    pub text: String,
    /// Evidence, and what to record for more.
    pub detail: String,
    /// The finding that it is taken from.
    pub finding: Option<String>,
}

impl Diagnosis {
    /// Lets all findings look at the runs of `scope`, and orders what they find by what it explains of the runs' time.
    ///
    /// # Errors
    /// When findings of the store cannot be read, or the runs. A finding that fails is listed among what was found.
    pub fn of(engine: &Engine, scope: &Scope) -> Result<Diagnosis, CompareError> {
        Diagnosis::of_part(engine, scope, &[])
    }

    /// As [`Diagnosis::of`], of a part of a run whose other parts are `rest`: what they have as well comes last, and is no answer.
    ///
    /// # Errors
    /// As of [`Diagnosis::of`].
    pub fn of_part(engine: &Engine, scope: &Scope, rest: &[Scope]) -> Result<Diagnosis, CompareError> {
        let mut found = engine.find_all(scope)?;
        let runs = scope.runs.clone().unwrap_or_default();
        let times = times(engine, &runs, scope)?;
        let ranking = |run: &str| times.iter().find(|(id, _)| id.as_str() == run).and_then(|(_, of)| of.ranking());
        let impact = |run: &str, parts: &[String]| impact_of(ranking(run)?, parts);
        let known = times.iter().filter(|(_, of)| of.ranking().is_some()).map(|(run, _)| run.to_string());
        rank(&mut found, &Splits { runs: known.collect(), impact: &impact });
        let several_hosts =
            runs.iter().any(|run| engine.store().run(run).is_ok_and(|entry| entry.manifest.hosts.len() > 1));
        let split = times.iter().find_map(|(_, of)| of.split.as_ref());
        let elsewhere = elsewhere(engine, &found, rest);
        found.sort_by_key(|found| elsewhere.contains(&found.finding.name));
        let only_here = found.partition_point(|found| !elsewhere.contains(&found.finding.name));
        let mut answer = match nothing_new(&found[..only_here], &found[only_here..]) {
            Some(answer) => answer,
            None => answer(engine, scope, &found[..only_here], split, several_hosts)?,
        };
        if !answer.text.contains(ON_CPU) && !answer.detail.contains(ON_CPU) {
            let functions = on_cpu(engine, scope, several_hosts)?;
            answer.detail =
                [answer.detail, functions].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ");
        }
        Ok(Diagnosis { answer, found, several_hosts, elsewhere: (!rest.is_empty()).then_some(elsewhere) })
    }

    /// The first problem, where only the part that was looked at has it, and it is critical or holds a good part of the time.
    pub(crate) fn is_large_news(&self) -> bool {
        let elsewhere = self.elsewhere.as_ref();
        let first = self.found.first().filter(|found| found.outcome.is_ok() && found.kind() == Kind::Problem);
        first
            .is_some_and(|found| elsewhere.is_some_and(|names| !names.contains(&found.finding.name)) && is_large(found))
    }
}

/// Names of the problems and symptoms that `rest` has as well.
fn elsewhere(engine: &Engine, found: &[Found], rest: &[Scope]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for finding in found.iter().filter(|found| found.outcome.is_ok() && is_wrong(found)).map(|found| &found.finding) {
        for scope in rest {
            // One that cannot look there is not known to be there.
            if engine.find(finding, scope).is_ok_and(|there| !there.is_empty()) {
                names.insert(finding.name.clone());
            }
        }
    }
    names
}

fn is_wrong(found: &Found) -> bool {
    matches!(found.kind(), Kind::Problem | Kind::Symptom)
}

/// The answer where all that is wrong in a part of a run is wrong in its other parts too.
fn nothing_new(only_here: &[Found], elsewhere: &[Found]) -> Option<Answer> {
    let known =
        elsewhere.first().filter(|_| !only_here.iter().any(|found| found.outcome.is_ok() && is_wrong(found)))?;
    let message = known.outcome.iter().flatten().next().map_or("", |occurrence| &occurrence.message);
    Some(Answer {
        names: Names::Unknown,
        text: "What is found in this range is found in the rest of the run as well.".to_owned(),
        detail: format!("{}: {message}", known.finding.title),
        finding: None,
    })
}

/// How the sentence begins that names functions and system calls.
const ON_CPU: &str = "On CPU: ";

/// Where CPU time goes, of each host that has stacks: what every answer ends in.
fn on_cpu(engine: &Engine, scope: &Scope, several_hosts: bool) -> Result<String, QueryError> {
    let Some(run) = scope.runs.iter().flatten().next() else { return Ok(String::new()) };
    let culprits = engine.culprits(&["function"], scope)?;
    let hosts = &engine.store().run(run)?.manifest.hosts;
    let of = |host: &String| {
        let sentence = culprits.first()?.sentence(&run.to_string(), Some(host))?;
        Some(if several_hosts { format!("{host}: {sentence}.") } else { format!("{sentence}.") })
    };
    Ok(hosts.iter().filter_map(of).collect::<Vec<_>>().join(" "))
}

/// How much `names` account for: of the latency, of the service where a queue before it is a good part of the latency, or of the
/// time of a database's sessions. None where one of them is unknown, or is no part of the time that is split.
fn impact_of(split: &Split, names: &[String]) -> Option<Impact> {
    let share = share_of(split, names)?;
    let impact = |share: f64, of: &str| Some(Impact { share: share.clamp(0.0, 1.0), of: of.to_owned() });
    if split.what == whole::DB_TIME {
        return impact(share, DB_TIME);
    }
    let queue = queue_of(split);
    if queue < GOOD_PART || names.iter().any(|name| name == QUEUE) {
        return impact(share, LATENCY);
    }
    // A latency that is nothing but a queue has no service to speak of.
    if queue < 1.0 { impact(share / (1.0 - queue), SERVICE) } else { None }
}

/// From this share on, something is a good part of a time.
const GOOD_PART: f64 = 0.1;

/// The share of a latency that a transaction waits before it is begun, as far as that is known.
fn queue_of(split: &Split) -> f64 {
    if split.what != whole::LATENCY {
        return 0.0;
    }
    share_of(split, &[QUEUE.to_owned()]).unwrap_or(0.0).clamp(0.0, 1.0)
}

/// The share of a time that the parts called `names` have, each counted once. None where one of them is unknown, or cannot be a part.
fn share_of(split: &Split, names: &[String]) -> Option<f64> {
    let place = |name: &str| split.parts.iter().position(|part| part.name == name);
    let is_absent = |name: &str| split.absent.contains(&name);
    let mut counted = BTreeSet::new();
    for name in names {
        let shares = || KINDS.iter().filter(|kind| kind.whole == Some(name.as_str())).map(|kind| kind.name);
        let of_shares: Vec<usize> = shares().filter_map(place).collect();
        let whole = KINDS.iter().find(|kind| kind.name == *name).and_then(|kind| kind.whole);
        match place(name).or_else(|| whole.and_then(place)) {
            Some(place) => _ = counted.insert(place),
            None if !of_shares.is_empty() => counted.extend(of_shares),
            None if is_absent(name) || shares().any(is_absent) || whole.is_some_and(is_absent) => {}
            None => return None,
        }
    }
    counted.into_iter().map(|place| split.parts[place].shares[0]).sum()
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
    let message = |o: &Occurrence| {
        // Names that are in the first sentence are not in the second.
        let named = o.named().filter(|_| names == Names::Symptom).unwrap_or_default();
        let text = o.message.strip_suffix(named).unwrap_or(&o.message).trim_end();
        match o.host.as_ref().filter(|_| several_hosts) {
            Some(host) => format!("{host}: {text}"),
            None => text.to_owned(),
        }
    };
    let first = found.outcome.iter().flatten().next().map(message);
    let queue = split.map_or(0.0, queue_of);
    let follows = found.impact().filter(|impact| impact.of == SERVICE).map(|_| {
        format!("Waiting for a connection, {} of the latency, follows from how long the service takes.", percent(queue))
    });
    let detail = first.into_iter().chain(follows).chain(Some(excluded).filter(|text| !text.is_empty()));
    let detail = detail.collect::<Vec<String>>().join(" ");
    Ok(Answer { names, text, detail, finding: Some(found.finding.name.clone()) })
}

/// The largest part of a time, in words.
fn most_of(split: &Split) -> Option<String> {
    let share = |part: &Part| part.shares[0].unwrap_or(0.0);
    if split.what == whole::ELAPSED {
        let is_cpu = |part: &&Part| part.name.starts_with(kind_name::CPU);
        let on_cpu: f64 = split.parts.iter().filter(is_cpu).map(share).sum();
        let waited = split.parts.iter().filter(|part| !is_cpu(part));
        let most = waited.max_by(|a, b| share(a).total_cmp(&share(b))).filter(|part| share(part) >= 0.1);
        let times = format!("CPU time is {} of the elapsed time", percent(on_cpu));
        return Some(match most {
            Some(part) if part.name == RESIDUAL => {
                format!("{times}; for what the command waited, `fenxi trace profile -- COMMAND` shows.")
            }
            Some(part) => format!("{times}, {} {}.", part.name, percent(share(part))),
            None => format!("{times}."),
        });
    }
    let greatest = split.parts.iter().max_by(|a, b| share(a).total_cmp(&share(b)))?;
    let of = percent(share(greatest));
    let time = if split.what == whole::DB_TIME { DB_TIME } else { LATENCY };
    Some(match greatest.name {
        RESIDUAL => format!("{of} of {time} is not accounted for."),
        name => format!("{of} of {time} is {name}."),
    })
}

/// The resources that were fullest, in words.
fn busiest(engine: &Engine, scope: &Scope, several_hosts: bool) -> Result<String, QueryError> {
    let name = if several_hosts { "host || ': ' || resource" } else { "resource" };
    let sql = format!(
        "SELECT resource, mean, most FROM ( \
             SELECT {name} AS resource, place, wmean(value, coalesce(dt, 1)) AS mean, max(value) AS most FROM resource_use \
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
