//! Where the time went: the mean latency of a transaction, or the elapsed time of a command, as parts that add up to it.
//!
//! By Little's law the mean number of sessions that spend their time on something, divided by the transactions of a second, is
//! the time that a transaction spends on it. Only sessions of the server count, and the driver's own figures: what else runs on
//! the machine is no part of a transaction.

mod attribution;
mod kinds;
mod missing;

use std::collections::{BTreeMap, BTreeSet};

use fenxi_model::Unit;

use crate::{Interval, RunSummary, bootstrap, paired::mean_interval, sample::mean};

pub use attribution::{Attribution, Measured, Quota, Source, attribute};
pub use kinds::{KINDS, Kind, RESIDUAL, name as kind_name, of_class};

/// The times that are split.
pub mod whole {
    /// The mean latency of a transaction.
    pub const LATENCY: &str = "latency";
    /// The elapsed time of a command.
    pub const ELAPSED: &str = "elapsed";
    /// Split of DB time: mean number of active sessions by activity.
    pub const DB_TIME: &str = "DB time";
}

/// Probability that an interval holds the true value.
const LEVEL: f64 = 0.95;

/// Transactions of a run: rate, latency, and measurements of the sessions that executed them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transactions {
    /// Mean latency from the intended start, in milliseconds.
    pub latency_ms: f64,
    /// Transactions completed in a second.
    pub per_s: f64,
    /// Sources of their time, the best first.
    pub sources: Vec<Source>,
    /// Throttling by a CPU quota of the server's cgroup; None when cgroups were not observed.
    pub quota: Option<Quota>,
    /// Notes on the figures.
    pub notes: Vec<String>,
}

/// A change from the first group to the second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartChange {
    /// The difference of the means.
    pub value: f64,
    /// Its 95 % confidence interval, where both groups have repeats.
    pub interval: Option<Interval>,
}

/// A part of a time. The vectors have a place for each group.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Name of the part.
    pub name: &'static str,
    /// Description of the part.
    pub about: &'static str,
    /// Its mean, in the unit of the whole; None where it is unknown and thus in the residual.
    pub means: Vec<Option<f64>>,
    /// The 95 % confidence interval of the mean, where there are repeats.
    pub intervals: Vec<Option<Interval>>,
    /// How it was measured.
    pub measured: Vec<Option<String>>,
    /// By how much it changed from the first group to the second, of two.
    pub change: Option<PartChange>,
}

/// A time split into parts that add up to it, for each of some groups of runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// Quantity that is split: one of [`whole`].
    pub what: &'static str,
    /// The unit of all its numbers.
    pub unit: Unit,
    /// The whole.
    pub whole: Part,
    /// The parts; the last one is the residual.
    pub parts: Vec<Part>,
    /// Missing inputs and doubts, with how to record them.
    pub notes: Vec<String>,
    /// Parts that are known to take no time in any run, and thus are not among `parts`.
    pub absent: Vec<&'static str>,
}

/// One run: the whole and the parts that are known of it, with how each was measured.
struct KnownParts {
    whole: f64,
    parts: BTreeMap<&'static str, (f64, String)>,
    /// Time taken off sampled waits: that in the run queue, and that due to chance.
    off: [f64; 2],
}

/// Splits the mean latency of a transaction, or else the elapsed time of a command, or else the time of a database's sessions, of
/// each of `groups`. None where some run shows none of them.
pub fn explain(groups: &[(&str, &[RunSummary])]) -> Option<Split> {
    if groups.iter().any(|(_, runs)| runs.is_empty()) {
        return None;
    }
    latencies(groups).or_else(|| elapsed(groups)).or_else(|| db_time(groups))
}

/// Fewer active sessions on average are next to none: their share of waits means nothing.
const LEAST_SESSIONS: f64 = 0.05;

/// Splits the time of the sessions of each of `groups`: how many of them were at what on average. None where some run shows none.
pub fn db_time(groups: &[(&str, &[RunSummary])]) -> Option<Split> {
    let known = |run: &RunSummary| -> Option<KnownParts> {
        let whole: f64 = run.sessions.values().map(|(sessions, _)| sessions).sum();
        (whole >= LEAST_SESSIONS).then(|| KnownParts { whole, parts: run.sessions.clone(), off: [0.0; 2] })
    };
    let mut known = read(groups, known).filter(|groups| groups.iter().all(|runs| !runs.is_empty()))?;
    join_shares(&mut known);
    // Who sees sessions sees all of their waits: what one run had and another did not took no time there.
    let names: BTreeSet<&'static str> = known.iter().flatten().flat_map(|run| run.parts.keys().copied()).collect();
    let is_wait = |name: &&&'static str| kinds::called(name).is_some_and(|kind| kind.is_wait);
    for run in known.iter_mut().flatten() {
        for name in names.iter().filter(is_wait) {
            run.parts.entry(*name).or_insert_with(|| (0.0, Measured::Sampled.word().to_owned()));
        }
    }
    let order: Vec<&'static str> = KINDS.iter().map(|kind| kind.name).collect();
    let about = |name: &str| kinds::called(name).map_or("", |kind| kind.about);
    let mut split = split(whole::DB_TIME, Unit::None, &known, &order, about);
    // The parts make the whole, unless a run does not know one that another one has.
    let is_nothing = |part: &Part| part.name == RESIDUAL && part.means.iter().flatten().all(|mean| mean.abs() < 1e-9);
    split.parts.retain(|part| !is_nothing(part));
    split.absent =
        KINDS.iter().filter(|kind| kind.is_wait && !names.contains(kind.name)).map(|kind| kind.name).collect();
    let is_assumed =
        |part: &Part| part.name == kinds::name::CPU && part.measured.iter().flatten().any(|how| how == "sampled");
    split.notes.extend(split.parts.iter().any(is_assumed).then(|| missing::ASSUMED.to_owned()));
    Some(split)
}

fn latencies(groups: &[(&str, &[RunSummary])]) -> Option<Split> {
    let known = |run: &RunSummary| -> Option<KnownParts> {
        let of = run.transactions.as_ref().filter(|of| of.per_s > 0.0 && of.latency_ms.is_finite())?;
        let part = |(name, time): (&'static str, Attribution)| {
            let divided = time.divided.filter(|by| *by != time.measured);
            let divided = divided.map(|by| format!(", divided as {}", by.word())).unwrap_or_default();
            (name, (1e3 * time.time / of.per_s, format!("{}{divided}", time.measured.word())))
        };
        let mut taken = attribute(&of.sources, of.quota);
        let sessions = of.per_s * of.latency_ms / 1e3;
        attribution::without_think_time(&mut taken);
        let overlap = attribution::without_overlap(&mut taken, &of.sources, sessions);
        let chance = attribution::without_chance(&mut taken, &of.sources, sessions);
        attribution::bound(&mut taken, sessions);
        let off = [overlap, chance].map(|time| 1e3 * time / of.per_s);
        Some(KnownParts { whole: of.latency_ms, parts: taken.into_iter().map(part).collect(), off })
    };
    let mut known = read(groups, known)?;
    let ran: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
    join_shares(&mut known);
    let about = |name: &str| kinds::called(name).map_or("", |kind| kind.about);
    let mut split = split(whole::LATENCY, Unit::Milliseconds, &known, &ran, about);
    let takes_time = |part: &Part| part.name == RESIDUAL || part.means.iter().any(|mean| mean.is_some_and(|m| m > 0.0));
    split.absent = split.parts.iter().filter(|part| !takes_time(part)).map(|part| part.name).collect();
    split.parts.retain(takes_time);
    let mean_off =
        |runs: &Vec<KnownParts>| [0, 1].map(|which| mean(&runs.iter().map(|run| run.off[which]).collect::<Vec<_>>()));
    let off: Vec<[f64; 2]> = known.iter().map(mean_off).collect();
    split.notes = missing::notes(groups, &split, &names(&known), &off);
    Some(split)
}

/// Which kinds each group knows.
fn names(groups: &[Vec<KnownParts>]) -> Vec<BTreeSet<&'static str>> {
    let of_all = |runs: &Vec<KnownParts>| -> BTreeSet<&'static str> {
        let in_all = |name: &&str| runs.iter().all(|run| run.parts.contains_key(name));
        runs.iter().flat_map(|run| run.parts.keys().copied()).filter(in_all).collect()
    };
    groups.iter().map(of_all).collect()
}

/// Where a run knows a time as a whole only, the others' shares of it are added up, so that like is compared with like.
fn join_shares(groups: &mut [Vec<KnownParts>]) {
    for whole in KINDS.iter().filter(|kind| kind.shares().next().is_some()) {
        let mut runs = groups.iter().flatten();
        if !runs.any(|run| run.parts.contains_key(whole.name)) {
            continue;
        }
        for run in groups.iter_mut().flatten() {
            let shares: Vec<_> = whole.shares().filter_map(|share| run.parts.remove(share.name)).collect();
            for (time, how) in shares {
                let sum = run.parts.entry(whole.name).or_insert((0.0, how));
                sum.0 += time;
            }
        }
    }
}

/// Words of what a command's time went to that the kernel counts, and of looks that saw it on a CPU or in its queue.
pub mod waits {
    /// CPU time in user code.
    pub const USER: &str = "user";
    /// CPU time in the kernel.
    pub const SYSTEM: &str = "system";
    /// Time runnable without a CPU.
    pub const RUN_QUEUE: &str = "run queue";
    /// All of these.
    pub const COUNTED: [&str; 3] = [USER, SYSTEM, RUN_QUEUE];
    /// The state that samples of threads show for them.
    pub const RUN: &str = "run";
}

/// Among what a command waited for, the mean number of its threads that were at work at a moment: the parts are those of one of them.
pub const AT_WORK: &str = "threads at work";
/// With more threads at work than this, that is reported.
const SEVERAL: f64 = 1.1;

/// Waits of a command: the word in samples of its threads, the part, and its meaning; the first is not sampled.
const WAITS: &[(&str, &str, &str)] = &[
    ("run queue", kinds::name::RUN_QUEUE, "The command runnable without a CPU"),
    ("disk", "disk", "Waiting for reads and writes of disks"),
    ("flush", "flush", "Waiting for data to be on disk (fsync)"),
    ("dirty pages", "dirty pages", "Held back until written pages are on disk"),
    ("memory", "memory", "Waiting for memory to be reclaimed or read back"),
    ("lock", "lock", "Waiting for locks of the program (futex)"),
    ("lock or work", "lock or work", "Waiting for a lock of the program, or on a condition for work (futex)"),
    ("file lock", "file lock", "Waiting for locks of files"),
    ("kernel lock", "kernel lock", "Waiting for locks of the kernel"),
    ("receive", "receive", "Waiting for data from a socket"),
    ("send", "send", "Waiting until a socket takes more data"),
    ("connect", "connect", "Waiting for a connection"),
    ("name server", "name server", "Waiting for an answer of a name server"),
    ("accept", "accept", "Waiting for somebody to connect"),
    ("pipe", "pipe", "Waiting for the other end of a pipe"),
    ("poll", "poll", "Waiting for one of several events"),
    ("sleep", "sleep", "Asleep for a time that the program chose"),
    ("child", "child", "Waiting for a process that was not seen at anything"),
    ("file server", "file server", "Waiting for a file system that a program or another host serves"),
    ("stopped", "stopped", "Stopped by a signal, or by what traces it"),
    ("other", "other waits", "Waiting for something else"),
];

/// The CPU times of a command, what it waited for, and what remains of its elapsed time, in seconds.
fn elapsed(groups: &[(&str, &[RunSummary])]) -> Option<Split> {
    let on_cpu = [(kinds::name::USER, waits::USER, "user_time"), (kinds::name::SYSTEM, waits::SYSTEM, "system_time")];
    let known = |run: &RunSummary| -> Option<KnownParts> {
        let result = |name: &str| run.results.get(name).filter(|o| o.unit == "s").map(|o| o.value);
        let whole = result("elapsed")?;
        // Without samples of its threads, several on CPUs at once are all that is known.
        let used: f64 = on_cpu.iter().filter_map(|(.., of)| result(of)).sum();
        let of_elapsed = if used > whole { whole / used } else { 1.0 };
        let part = |(name, word, of): (&'static str, &str, &str)| {
            let counted = run.waits.get(word).copied().or_else(|| Some(result(of)? * of_elapsed))?;
            Some((name, (counted, Measured::Os.word().to_owned())))
        };
        let mut parts: BTreeMap<&'static str, (f64, String)> = on_cpu.into_iter().filter_map(part).collect();
        let mut rest = whole - parts.values().map(|(time, _)| time).sum::<f64>();
        // Looks come first: the queue is that of all threads, of which several may wait at once.
        let (queue, looks) = WAITS.split_at(1);
        for &(word, name, _) in looks.iter().chain(queue) {
            let Some(time) = run.waits.get(word).map(|time| time.min(rest)).filter(|time| *time > 0.0) else {
                continue;
            };
            let how = if name == kinds::name::RUN_QUEUE { Measured::Os } else { Measured::Sampled };
            parts.insert(name, (time, how.word().to_owned()));
            rest -= time;
        }
        Some(KnownParts { whole, parts, off: [0.0; 2] })
    };
    let mut known = read(groups, known)?;
    // A wait that one run of several has and another lacks took no time in the other.
    let names: BTreeSet<&'static str> = known.iter().flatten().flat_map(|run| run.parts.keys().copied()).collect();
    let looked = |run: &RunSummary| !run.waits.is_empty();
    if groups.iter().all(|(_, runs)| runs.iter().all(looked)) {
        for run in known.iter_mut().flatten() {
            for (_, name, _) in WAITS.iter().filter(|(_, name, _)| names.contains(name)) {
                run.parts.entry(name).or_insert_with(|| (0.0, Measured::Sampled.word().to_owned()));
            }
        }
    }
    let order: Vec<&'static str> =
        on_cpu.iter().map(|(name, ..)| *name).chain(WAITS.iter().map(|(_, name, _)| *name)).collect();
    let about = |name: &str| {
        let wait = WAITS.iter().find(|(_, of, _)| *of == name);
        wait.map_or("CPU time of the command", |(_, _, about)| *about)
    };
    let mut split = split(whole::ELAPSED, Unit::Seconds, &known, &order, about);
    let of_group = |name: &str| if groups.len() > 1 { format!("{name}: ") } else { String::new() };
    split.notes = groups.iter().filter_map(|(name, runs)| Some(of_group(name) + &several(runs)?)).collect();
    (split.parts.len() > 1).then_some(split)
}

/// The note on the parts of commands of which several threads were at work at a moment.
fn several(runs: &[RunSummary]) -> Option<String> {
    let at_work: Option<Vec<f64>> = runs.iter().map(|run| run.waits.get(AT_WORK).copied()).collect();
    let at_work = at_work.map(|threads| mean(&threads)).filter(|threads| *threads > SEVERAL)?;
    Some(format!("{at_work:.1} threads were at work at a moment: each part is its share of all their time"))
}

fn read(
    groups: &[(&str, &[RunSummary])],
    of: impl Fn(&RunSummary) -> Option<KnownParts>,
) -> Option<Vec<Vec<KnownParts>>> {
    groups.iter().map(|(_, runs)| runs.iter().map(&of).collect()).collect()
}

fn split(
    what: &'static str,
    unit: Unit,
    groups: &[Vec<KnownParts>],
    names: &[&'static str],
    about: impl Fn(&str) -> &'static str,
) -> Split {
    let wholes: Vec<Option<Vec<f64>>> = groups.iter().map(|g| Some(g.iter().map(|run| run.whole).collect())).collect();
    let mut rests = wholes.clone();
    let mut parts = Vec::new();
    for name in names {
        let values: Vec<Option<Vec<f64>>> = groups.iter().map(|runs| values_of(runs, name)).collect();
        if values.iter().all(Option::is_none) {
            continue;
        }
        for (rest, values) in rests.iter_mut().flatten().zip(&values) {
            let values = values.iter().flatten();
            rest.iter_mut().zip(values).for_each(|(rest, value)| *rest = difference(*rest, *value));
        }
        let how = |(runs, values): (&Vec<KnownParts>, &Option<Vec<f64>>)| {
            let words: BTreeSet<&str> =
                runs.iter().filter_map(|r| r.parts.get(name)).map(|(_, how)| how.as_str()).collect();
            values.as_ref().map(|_| words.into_iter().collect::<Vec<_>>().join("; "))
        };
        let measured = groups.iter().zip(&values).map(how).collect();
        // A time is never negative, whatever few runs say of its interval.
        parts.push(part(name, about(name), &values, measured, 0.0));
    }
    let unmeasured = || vec![None; groups.len()];
    let about_rest = "Measured less explained: what no part accounts for";
    parts.push(part(RESIDUAL, about_rest, &rests, unmeasured(), f64::NEG_INFINITY));
    let whole = part(what, "", &wholes, unmeasured(), 0.0);
    Split { what, unit, whole, parts, notes: Vec::new(), absent: Vec::new() }
}

/// Value of a part in each run of a group; None where it is unknown in one of them.
fn values_of(runs: &[KnownParts], name: &str) -> Option<Vec<f64>> {
    runs.iter().map(|run| run.parts.get(name).map(|(time, _)| *time)).collect()
}

fn part(
    name: &'static str,
    about: &'static str,
    values: &[Option<Vec<f64>>],
    measured: Vec<Option<String>>,
    lowest: f64,
) -> Part {
    let interval =
        |values: &Vec<f64>| mean_interval(values, LEVEL).map(|i| Interval { low: i.low.max(lowest), high: i.high });
    let change = match values {
        [Some(a), Some(b)] => {
            Some(PartChange { value: mean(b) - mean(a), interval: bootstrap(a, b, LEVEL, |a, b| mean(b) - mean(a)) })
        }
        _ => None,
    };
    Part {
        name,
        about,
        means: values.iter().map(|v| v.as_deref().map(mean)).collect(),
        intervals: values.iter().map(|v| v.as_ref().and_then(interval)).collect(),
        measured,
        change,
    }
}

/// `a` less `b`, 0 where only rounding tells them apart.
fn difference(a: f64, b: f64) -> f64 {
    let difference = a - b;
    if difference.abs() <= 1e-12 * a.abs().max(b.abs()) { 0.0 } else { difference }
}

#[cfg(test)]
mod tests;
