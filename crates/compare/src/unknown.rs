//! The answer where no cause is known: who used most, what is largest, and what was not seen.
//!
//! That there is no bottleneck is reported only where CPUs, memory, disks, network and waits were all seen.

use std::collections::BTreeSet;

use fenxi_analyze::{RESIDUAL, kind_name, whole};
use fenxi_query::{Culprits, Engine, Found, QueryError, Scope};

use crate::{Answer, Names, Part, Split};

/// Resources that can be full, and waits, which can hold work up as well.
const PARTS: [&str; 5] = ["the CPUs", "memory", "disks", "the network", "waits"];
/// Where waits are seen, besides in the samples of threads.
const WAITS: [&str; 4] = ["thread_wait", "db_wait", "lock", "query"];
/// The source that sees waits, also where there were none.
const THREADS: &str = "thread_wait";
/// From this share on, time of a command without a name may hide what holds it up.
const UNEXPLAINED: f64 = 0.25;
/// From this share on, a wait is what a transaction mostly does.
const MOSTLY: f64 = 0.4;
/// Below this share, something is no good part of a time.
const LITTLE: f64 = 0.1;
/// How states of the machine's CPUs are named.
const CPUS: &str = "cpu-";
/// So many sentences say what is largest.
const MOST: usize = 3;

/// Something that is a whole sentence, and who is behind it.
struct State {
    kind: &'static str,
    behind: &'static str,
}

/// In the order in which one looks.
const STATES: [State; 6] = [
    State { kind: "cpu-full", behind: "process" },
    State { kind: "command-queued", behind: "process" },
    State { kind: "command-cpu", behind: "function" },
    State { kind: "command-serial", behind: "function" },
    State { kind: "cpu-one", behind: "process" },
    State { kind: "session-wait", behind: "holder" },
];
/// Kinds of culprits that held work up: reported in place of that nothing did.
const HOLDING: [&str; 1] = ["thread-wait"];
/// Kinds that may have, where not all was seen.
const WAITED: [&str; 2] = ["lock", "db-wait"];
/// Who used most, as far as that is known.
const USERS: [&str; 8] = ["queued", "process", "function", "disk", "file", "memory", "statement", "metric"];

/// The answer where no finding is a problem or a symptom: `most` is what most of the time of `split` went to, `busiest` what
/// was used most, each in words.
pub(crate) fn answer(
    engine: &Engine,
    scope: &Scope,
    (split, most): (Option<&Split>, Option<String>),
    busiest: &str,
) -> Result<Answer, QueryError> {
    let largest_of = Largest::of(engine, scope)?;
    let unseen = unseen(engine, scope)?;
    let is_whole = unseen.is_empty() && !split.is_some_and(is_unexplained);
    let is_of_time = |state: &&State| !state.kind.starts_with(CPUS) || !split.is_some_and(needs_no_cpu);
    let (of_time, elsewhere): (Vec<&State>, Vec<&State>) = STATES.iter().partition(is_of_time);
    let state = of_time.into_iter().find_map(|state| Some((state, largest_of.first(state.kind)?)));
    let known = |kinds: &[&str]| kinds.iter().filter_map(|kind| largest_of.sentence(kind)).collect::<Vec<_>>();
    let (held, waited) = (known(&HOLDING), known(&WAITED));
    let is_wait = most.is_some() && split.is_some_and(is_mostly_wait);
    let holds = !held.is_empty() || (!is_whole && !waited.is_empty()) || is_wait;
    let is_named = |kind: &str| state.is_some_and(|(state, _)| state.behind == kind);
    let users: Vec<&str> = USERS.into_iter().filter(|kind| !is_named(kind)).collect();
    let users = known(&users);
    let mut largest = if is_whole { [held, users, waited] } else { [waited, held, users] }.concat();
    largest.truncate(MOST);
    let sentence = |state: &State, first: &str| format!("{first}{}.", largest_of.behind(state).unwrap_or_default());
    let beside = elsewhere.into_iter().find_map(|state| Some(sentence(state, largest_of.first(state.kind)?)));
    let mut words: Vec<String> = Vec::new();
    let names = if is_whole && state.is_none() && !holds { Names::Nothing } else { Names::Unknown };
    match state {
        Some((state, first)) => words.push(sentence(state, first)),
        None if is_whole && !holds => words.push("No bottleneck is seen.".to_owned()),
        None if holds => {}
        None if unseen.len() == PARTS.len() => words.push("Nothing here shows a bottleneck.".to_owned()),
        None => words.push("Nothing is full of what was seen.".to_owned()),
    }
    let is_named = most.is_some() || state.is_some();
    words.extend(most);
    if names == Names::Unknown && !is_named && !largest.is_empty() {
        words.push(largest.remove(0));
    }
    let not_seen = (!unseen.is_empty()).then(|| format!("Not seen: {}; `fenxi record` sees them.", unseen.join(", ")));
    let busiest = Some(busiest.to_owned()).filter(|text| !text.is_empty());
    let detail: Vec<String> = beside.into_iter().chain(busiest).chain(largest).chain(not_seen).collect();
    Ok(Answer { names, text: words.join(" "), detail: detail.join(" "), finding: None })
}

/// Whether hardly any of a time is spent on CPUs or waiting for them: then it is not full CPUs that take it.
fn needs_no_cpu(split: &Split) -> bool {
    let of_cpus =
        |part: &&Part| part.name.contains(kind_name::CPU) || part.name == kind_name::RUN_QUEUE || part.name == RESIDUAL;
    let shares = split.parts.iter().filter(of_cpus).filter_map(|part| part.shares[0]);
    split.tells() && shares.sum::<f64>() < LITTLE
}

/// Whether transactions, or sessions, mostly wait for something: then that is the answer, whatever else has room.
fn is_mostly_wait(split: &Split) -> bool {
    let is_wait = |part: &&Part| part.name != RESIDUAL && !part.name.contains(kind_name::CPU);
    let shares = split.parts.iter().filter(is_wait).filter_map(|part| part.shares[0]);
    split.what != whole::ELAPSED && shares.max_by(f64::total_cmp).is_some_and(|share| share >= MOSTLY)
}

/// Whether a good part of a command's elapsed time is not accounted for.
fn is_unexplained(split: &Split) -> bool {
    let rest = split.parts.iter().find(|part| part.name == RESIDUAL).and_then(|part| part.shares[0]);
    split.what == whole::ELAPSED && rest.is_some_and(|share| share >= UNEXPLAINED)
}

/// The answer in place of a cause where `symptom` is the first finding: who had most of it, and what it is not.
pub(crate) fn cause(
    engine: &Engine,
    scope: &Scope,
    symptom: &Found,
    all: &[Found],
) -> Result<(String, String), QueryError> {
    let named = symptom.outcome.iter().flatten().find_map(|occurrence| occurrence.named());
    let words = named.map_or_else(|| "Its cause is not seen.".to_owned(), str::to_owned);
    let (mut excluded, mut unasked) = (Vec::new(), Vec::new());
    let is_found = |name: &str| all.iter().any(|found| found.finding.name == name);
    for (finding, what) in symptom.finding.causes.iter().filter(|(finding, _)| !is_found(finding)) {
        let could = engine.could_look(finding, scope)?;
        if could { excluded.push(what.as_str()) } else { unasked.push(what.as_str()) }
    }
    let list = |before: &str, what: &[&str]| match what {
        [] => None,
        _ => Some(format!("{before}: {}.", what.join(", "))),
    };
    let both = [list("Looked for and not found", &excluded), list("Not looked for, as it was not recorded", &unasked)];
    Ok((words, both.into_iter().flatten().collect::<Vec<_>>().join(" ")))
}

/// Who had most of each kind, in the first of the runs.
struct Largest {
    run: String,
    all: Vec<(&'static str, Culprits)>,
}

impl Largest {
    fn of(engine: &Engine, scope: &Scope) -> Result<Largest, QueryError> {
        let states = STATES.iter().map(|state| state.kind);
        let mut kinds: Vec<&'static str> = states.chain(HOLDING).chain(WAITED).chain(USERS).collect();
        kinds.extend(STATES.iter().map(|state| state.behind).filter(|kind| !USERS.contains(kind)));
        kinds.sort_unstable();
        kinds.dedup();
        let all = engine.culprits(&kinds, scope)?;
        let run = scope.runs.iter().flatten().next().map(ToString::to_string).unwrap_or_default();
        Ok(Largest { run, all: kinds.into_iter().zip(all).collect() })
    }

    fn known(&self, kind: &str) -> Option<&Culprits> {
        self.all.iter().find(|(of, _)| *of == kind).map(|(_, culprits)| culprits)
    }

    fn first(&self, kind: &str) -> Option<&str> {
        self.known(kind)?.of(&self.run, None).first().copied()
    }

    /// Who is behind a state: behind CPUs processes alone, anything else in a sentence.
    fn behind(&self, state: &State) -> Option<String> {
        let known = self.known(state.behind)?;
        if state.kind.starts_with(CPUS) {
            let names = known.of(&self.run, None);
            return (!names.is_empty()).then(|| format!(": {}", names.join(", ")));
        }
        known.sentence(&self.run, None).map(|sentence| format!(". {sentence}"))
    }

    fn sentence(&self, kind: &str) -> Option<String> {
        self.known(kind)?.sentence(&self.run, None).map(|sentence| format!("{sentence}."))
    }
}

/// Those of [`PARTS`] that were not seen whole.
fn unseen(engine: &Engine, scope: &Scope) -> Result<Vec<&'static str>, QueryError> {
    let sql = "SELECT CASE WHEN place = 10 THEN 'the CPUs' WHEN place IN (20, 21) THEN 'memory' WHEN place IN (30, 31) THEN 'disks' END AS what \
        FROM resource_use WHERE value IS NOT NULL AND place IN (10, 20, 21, 30, 31) \
        UNION SELECT 'the network' FROM net WHERE coalesce(rx_bytes_per_s, rx_packets_per_s, util) IS NOT NULL";
    let seen = engine.say_once("seen", sql, scope, |answer| {
        answer.strings("what").into_iter().flatten().collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join("\n")
    })?;
    let mut waits = true;
    for run in scope.runs.iter().flatten() {
        let manifest = &engine.store().run(run)?.manifest;
        waits &= manifest.sources.iter().any(|source| source == THREADS)
            || WAITS.iter().any(|table| manifest.file(table).is_some());
    }
    let is_seen = |part: &str| if part == "waits" { waits } else { seen.lines().any(|line| line == part) };
    Ok(PARTS.into_iter().filter(|part| !is_seen(part)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(what: &'static str, shares: &[(&'static str, f64)]) -> Split {
        let part = |(name, share): (&'static str, f64)| Part {
            name,
            about: "",
            means: vec![Some(share)],
            intervals: vec![None],
            shares: vec![Some(share)],
            measured: vec![None],
            change: None,
        };
        let parts = shares.iter().copied().map(part).collect();
        Split { what, unit: "s", whole: part((what, 1.0)), parts, notes: Vec::new(), absent: Vec::new() }
    }

    #[test]
    fn a_time_without_cpu_time_is_not_taken_by_full_cpus() {
        let [user, queue] = [kind_name::USER, kind_name::RUN_QUEUE];
        let needs_none = |shares: &[(&'static str, f64)]| needs_no_cpu(&split(whole::ELAPSED, shares));
        assert!(needs_none(&[(user, 0.01), (queue, 0.05), ("sleep", 0.94)]));
        assert!(!needs_none(&[(user, 0.01), (queue, 0.3), ("sleep", 0.69)]));
        assert!(!needs_none(&[(user, 0.5), ("sleep", 0.5)]));
        assert!(!needs_none(&[(user, 0.01), (RESIDUAL, 0.99)]), "what is not known may be a wait for CPUs");
        assert!(!needs_none(&[(RESIDUAL, 0.0)]));
    }
}
