//! Which source each part of a transaction's latency is taken from: the best there is, and each moment of a session once.

use std::collections::{BTreeMap, BTreeSet};

use super::kinds::{self, KINDS, Kind, OF_THE_REST, name};

/// Method of measuring a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Measured {
    /// At every context switch.
    Exact,
    /// By the operating system's accounts of processes and cgroups.
    Os,
    /// By the server's own sums.
    Server,
    /// By samples of the server's sessions.
    Sampled,
    /// By the load generator.
    Driver,
    /// By round trips of a separate connection.
    Ping,
}

impl Measured {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Measured::Exact => "exact",
            Measured::Os => "os",
            Measured::Server => "server",
            Measured::Sampled => "sampled",
            Measured::Driver => "driver",
            Measured::Ping => "ping",
        }
    }
}

/// A time that a source knows.
#[derive(Clone, Debug, PartialEq)]
pub struct Amount {
    /// Kind of part that the time belongs to.
    pub kind: &'static Kind,
    /// Seconds per second: the mean number of sessions that spend it.
    pub time: f64,
    /// Kinds whose time is in it although they are no share of it.
    pub also: &'static [&'static str],
}

/// Measurements that one source has of the sessions that execute transactions.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// How it measures.
    pub measured: Measured,
    /// Amounts by kind.
    pub amounts: Vec<Amount>,
    /// True if it sees all waits: what it does not name was not waited for.
    pub is_complete: bool,
    /// The standard error of all its waits together, in seconds per second, where they are samples.
    pub error: Option<f64>,
}

impl Source {
    /// One that names what it sees.
    pub fn new(measured: Measured) -> Source {
        Source { measured, amounts: Vec::new(), is_complete: false, error: None }
    }

    /// Adds time spent on `name`.
    pub fn add(&mut self, name: &str, time: Option<f64>, also: &'static [&'static str]) {
        // A rate of a clock that was set back is no time.
        let time = time.filter(|time| time.is_finite() && *time >= 0.0);
        self.amounts.extend(kinds::called(name).zip(time).map(|(kind, time)| Amount { kind, time, also }));
    }
}

/// A quota that holds the server up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quota {
    /// Seconds per second that run queues of its cgroup were throttled, over all CPUs.
    pub throttled: f64,
    /// CPUs of the machine, if known.
    pub cpus: Option<f64>,
}

/// A time as it was taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attribution {
    /// Seconds per second.
    pub time: f64,
    /// How it was measured.
    pub measured: Measured,
    /// Source of the proportions, where they come from another source than the amount.
    pub divided: Option<Measured>,
}

/// Takes each kind of time from the first of `sources` that knows it, so that none is counted twice. A time that a better
/// source knows only as a whole is divided in the proportions of a later one.
pub fn attribute(sources: &[Source], quota: Option<Quota>) -> BTreeMap<&'static str, Attribution> {
    let mut taken = BTreeMap::new();
    let mut covered: BTreeSet<&'static str> = BTreeSet::new();
    for (i, source) in sources.iter().enumerate() {
        let mut covers = Vec::new();
        for amount in &source.amounts {
            let kinds = KINDS.iter().filter(|kind| kind.overlaps(amount.kind));
            let names: Vec<&'static str> = kinds.map(|k| k.name).collect();
            if covered.contains(amount.kind.name) {
                continue;
            }
            for (name, time) in divided(amount, &sources[i + 1..]) {
                add(&mut taken, name, time, source.measured);
            }
            covers.extend(names.into_iter().chain(amount.also.iter().copied()));
        }
        // Not before: shares of one source stand beside each other.
        covered.extend(covers);
        if source.is_complete {
            for kind in KINDS.iter().filter(|kind| kind.is_wait && !covered.contains(kind.name)) {
                add(&mut taken, kind.name, (0.0, None), source.measured);
            }
            covered.extend(KINDS.iter().filter(|kind| kind.is_wait).map(|kind| kind.name));
        }
    }
    throttle(&mut taken, quota);
    taken
}

fn add(
    taken: &mut BTreeMap<&'static str, Attribution>,
    name: &'static str,
    (time, divided): (f64, Option<Measured>),
    measured: Measured,
) {
    let kept = taken.entry(name).or_insert(Attribution { time: 0.0, measured, divided });
    kept.time += time;
}

/// An amount by itself, or its shares as one of the `later` sources tells them apart.
fn divided(amount: &Amount, later: &[Source]) -> Vec<(&'static str, (f64, Option<Measured>))> {
    let shares = |source: &Source| -> Option<Vec<(&'static str, f64)>> {
        let mine = source.amounts.iter().filter(|a| a.kind.whole == Some(amount.kind.name));
        let mine: Vec<_> = mine.map(|a| (a.kind.name, a.time)).collect();
        (mine.iter().map(|(_, time)| time).sum::<f64>() > 0.0).then_some(mine)
    };
    // A source that sees all waits has their proportions; one that sees some of them does not.
    let told = |complete: bool| later.iter().filter(move |source| source.is_complete == complete);
    let found = told(true).chain(told(false)).find_map(|source| Some((source.measured, shares(source)?)));
    let Some((measured, shares)) = found else { return vec![(amount.kind.name, (amount.time, None))] };
    let sum: f64 = shares.iter().map(|(_, time)| time).sum();
    shares.into_iter().map(|(name, time)| (name, (amount.time * time / sum, Some(measured)))).collect()
}

/// Takes out of the run queue what a quota made of it.
///
/// To the scheduler a throttled thread is one that is runnable and waits, so that the time is in the run queue's already.
/// The cgroup counts the time of run queues, not of threads: while they are throttled, all runnable threads of theirs wait, which
/// are as many on each CPU as there are runnable threads for a CPU.
fn throttle(taken: &mut BTreeMap<&'static str, Attribution>, quota: Option<Quota>) {
    let Some(quota) = quota else { return };
    let cpu: f64 = [name::CPU, name::USER, name::SYSTEM].iter().filter_map(|n| taken.get(n)).map(|t| t.time).sum();
    let runnable = cpu + taken.get(name::RUN_QUEUE).map_or(0.0, |t| t.time);
    let each = quota.cpus.filter(|cpus| *cpus > 0.0).map_or(1.0, |cpus| (runnable / cpus).max(1.0));
    let mut time = quota.throttled * each;
    if let Some(queue) = taken.get_mut(name::RUN_QUEUE) {
        time = time.min(queue.time);
        queue.time -= time;
    }
    taken.insert(name::THROTTLED, Attribution { time, measured: Measured::Os, divided: None });
}

/// Takes the think time off the time that sessions were idle in a transaction: the server sees the client's pauses as such.
pub(super) fn without_think_time(taken: &mut BTreeMap<&'static str, Attribution>) {
    let think = taken.get(name::THINK).map_or(0.0, |t| t.time);
    if let Some(idle) = taken.get_mut(name::IDLE) {
        idle.time = (idle.time - think).max(0.0);
    }
}

/// Takes off sampled waits what was on a CPU or a wait for one, and gives how much; `sessions` are those in a transaction at any moment.
///
/// A session that can run again shows its last wait until it has a CPU, and one that flushes or spins shows a wait while
/// it computes: samples count as that wait what the kernel counts as run queue or CPU time. No session is in two places at
/// once: as far as parts exceed the sessions, and the kernel saw more sessions that run or are runnable than samples did,
/// the excess is such time. It is taken off each sampled wait alike.
pub(super) fn without_overlap(
    taken: &mut BTreeMap<&'static str, Attribution>,
    sources: &[Source],
    sessions: f64,
) -> f64 {
    let of = |taken: &BTreeMap<&'static str, Attribution>, names: &[&str]| -> f64 {
        let told = names.iter().filter_map(|name| taken.get(name));
        told.filter(|t| matches!(t.measured, Measured::Os | Measured::Exact)).map(|t| t.time).sum()
    };
    let runnable = of(taken, &[name::RUN_QUEUE, name::THROTTLED, name::CPU, name::USER, name::SYSTEM]);
    let sampled =
        sources.iter().filter(|source| source.measured == Measured::Sampled).flat_map(|source| &source.amounts);
    let seen: f64 = sampled.filter(|a| [name::CPU, name::PROTOCOL].contains(&a.kind.name)).map(|a| a.time).sum();
    let may_overlap = |name: &str, t: &Attribution| t.measured == Measured::Sampled || name == name::IDLE;
    let waits: f64 = taken.iter().filter(|(name, t)| may_overlap(name, t)).map(|(_, t)| t.time).sum();
    let excess = accounted(taken) - sessions;
    let overlap = excess.min(runnable - seen).min(waits);
    if overlap.is_nan() || overlap <= NOTHING * sessions {
        return 0.0;
    }
    for (name, t) in taken.iter_mut() {
        if may_overlap(name, t) {
            t.time *= 1.0 - overlap / waits;
        }
    }
    overlap
}

/// A share of the sessions below which a difference is one of rounding.
const NOTHING: f64 = 1e-9;
/// So many standard errors are chance.
const CHANCE: f64 = 3.0;

/// Takes off sampled waits by what they exceed the sessions, and gives how much, where that is no more than chance makes of so few
/// samples: what the driver and the kernel measure is exact beside it. More has another reason, which is not hidden.
pub(super) fn without_chance(
    taken: &mut BTreeMap<&'static str, Attribution>,
    sources: &[Source],
    sessions: f64,
) -> f64 {
    let Some(error) = sources.iter().filter_map(|source| source.error).reduce(f64::max) else { return 0.0 };
    let is_sampled = |t: &Attribution| t.measured == Measured::Sampled;
    let waits: f64 = taken.values().filter(|t| is_sampled(t)).map(|t| t.time).sum();
    let excess = accounted(taken) - sessions;
    if excess.is_nan() || excess <= NOTHING * sessions || excess > waits || excess > CHANCE * error {
        return 0.0;
    }
    taken.values_mut().filter(|t| is_sampled(t)).for_each(|t| t.time *= 1.0 - excess / waits);
    excess
}

/// Time accounted for, without the kinds that are only of the rest.
fn accounted(taken: &BTreeMap<&'static str, Attribution>) -> f64 {
    taken.iter().filter(|(name, _)| !OF_THE_REST.contains(name)).map(|(_, t)| t.time).sum()
}

/// Bounds the kinds that are only of the rest by what is left of `sessions`, those in a transaction at any moment.
///
/// A thread of the driver answers one connection while others wait for it, and a round trip contains the CPU time of both its
/// ends: what else is known of the time comes first.
pub(super) fn bound(taken: &mut BTreeMap<&'static str, Attribution>, sessions: f64) {
    let rest = sessions - accounted(taken);
    let mut rest = if rest > NOTHING * sessions { rest } else { 0.0 };
    for name in OF_THE_REST {
        if let Some(t) = taken.get_mut(name) {
            t.time = t.time.min(rest);
            rest -= t.time;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(measured: Measured, amounts: &[(&str, f64)]) -> Source {
        let mut source = Source::new(measured);
        amounts.iter().for_each(|(name, time)| source.add(name, Some(*time), &[]));
        source
    }

    fn times(taken: &BTreeMap<&'static str, Attribution>) -> Vec<(&'static str, f64, &'static str)> {
        taken.iter().filter(|(_, t)| t.time > 0.0).map(|(name, t)| (*name, t.time, t.measured.word())).collect()
    }

    #[test]
    fn each_kind_is_taken_once_from_the_first_source_that_knows_it() {
        let mut os = source(Measured::Os, &[(name::RUN_QUEUE, 2.0)]);
        os.add(name::CPU, Some(1.0), &[name::PROTOCOL]);
        let mut sampled =
            source(Measured::Sampled, &[(name::CPU, 0.4), (name::PROTOCOL, 0.2), ("lock", 3.0), ("commit", 0.5)]);
        sampled.is_complete = true;
        let server = source(Measured::Server, &[("commit", 0.6)]);
        let taken = attribute(&[os, server, sampled.clone()], None);
        let expected =
            [("commit", 0.6, "server"), ("lock", 3.0, "sampled"), (name::CPU, 1.0, "os"), (name::RUN_QUEUE, 2.0, "os")];
        assert_eq!(times(&taken), expected);
        // Samples see all waits: there was none for I/O.
        assert_eq!(taken["user I/O"], Attribution { time: 0.0, measured: Measured::Sampled, divided: None });
        // Without the operating system's figures samples give both.
        let alone = attribute(&[sampled], None);
        assert_eq!((alone[name::CPU].time, alone[name::PROTOCOL].time), (0.4, 0.2));
    }

    #[test]
    fn a_whole_that_was_measured_is_divided_as_the_next_source_has_its_shares() {
        let exact = source(Measured::Exact, &[(name::BLOCK_IO, 2.0), (name::LOCKS, 1.0)]);
        let sampled = source(Measured::Sampled, &[("commit", 0.9), ("user I/O", 0.3), ("system I/O", 0.0)]);
        let taken = attribute(&[exact.clone(), sampled], None);
        // 2 s/s as 3 to 1; no source distinguishes locks from latches.
        assert_eq!(times(&taken), [("commit", 1.5, "exact"), (name::LOCKS, 1.0, "exact"), ("user I/O", 0.5, "exact")]);
        assert_eq!(taken["commit"].divided, Some(Measured::Sampled));
        assert_eq!(times(&attribute(&[exact], None)), [(name::BLOCK_IO, 2.0, "exact"), (name::LOCKS, 1.0, "exact")]);
    }

    #[test]
    fn a_quota_takes_its_time_out_of_the_run_queue_and_never_more() {
        let os = |queue: f64| [source(Measured::Os, &[(name::CPU, 0.5), (name::RUN_QUEUE, queue)])];
        let quota = |throttled: f64, cpus: f64| Some(Quota { throttled, cpus: Some(cpus) });
        // One thread on one CPU: what its run queue was throttled, it waited.
        let one = attribute(&os(0.5), quota(0.4, 4.0));
        assert_eq!((one[name::THROTTLED].time, one[name::RUN_QUEUE].time), (0.4, 0.5 - 0.4));
        // 8 runnable threads on 2 CPUs, both throttled three quarters of the time: 6 wait for that alone.
        let many = attribute(&os(7.5), quota(1.5, 2.0));
        assert_eq!((many[name::THROTTLED].time, many[name::RUN_QUEUE].time), (6.0, 1.5));
        let all = attribute(&os(1.0), quota(9.0, 1.0));
        assert_eq!((all[name::THROTTLED].time, all[name::RUN_QUEUE].time), (1.0, 0.0));
        // The run queue is unknown: the cgroup's figures are known all the same.
        let alone = attribute(&[], Some(Quota { throttled: 0.3, cpus: None }));
        assert_eq!(times(&alone), [(name::THROTTLED, 0.3, "os")]);
    }

    #[test]
    fn think_time_is_no_more_idle_in_a_transaction() {
        let of = |think: f64, idle: f64| {
            let sources =
                [source(Measured::Server, &[(name::IDLE, idle)]), source(Measured::Driver, &[(name::THINK, think)])];
            let mut taken = attribute(&sources, None);
            without_think_time(&mut taken);
            (taken[name::THINK].time, taken[name::IDLE].time)
        };
        assert_eq!(of(2.0, 2.5), (2.0, 0.5));
        // Outside of BEGIN and COMMIT the server sees nothing of it.
        assert_eq!(of(2.0, 0.25), (2.0, 0.0));
    }

    #[test]
    fn waits_that_were_for_a_cpu_are_taken_off_as_far_as_parts_exceed_the_sessions() {
        let os = source(Measured::Os, &[(name::CPU, 1.0), (name::RUN_QUEUE, 2.0)]);
        let sampled = source(Measured::Sampled, &[("lock", 3.0), ("commit", 1.0), (name::CPU, 0.5)]);
        let sources = [os, sampled];
        let after = |sessions: f64| {
            let mut taken = attribute(&sources, None);
            let overlap = without_overlap(&mut taken, &sources, sessions);
            (overlap, taken["lock"].time, taken["commit"].time, taken[name::RUN_QUEUE].time)
        };
        // 7 s/s of parts in 6 sessions: 1 of the 4 that samples saw waiting was runnable.
        assert_eq!(after(6.0), (1.0, 2.25, 0.75, 2.0));
        assert_eq!(after(7.5), (0.0, 3.0, 1.0, 2.0));
        // Never more than the kernel saw and samples did not: the rest are other clients.
        assert_eq!(after(1.0), (2.5, 1.125, 0.375, 2.0));
        let mut alone = attribute(&sources[1..], None);
        assert_eq!(without_overlap(&mut alone, &sources[1..], 1.0), 0.0);
    }

    #[test]
    fn waits_exceed_the_sessions_by_chance_only_as_far_as_their_error_goes() {
        let os = source(Measured::Os, &[(name::CPU, 0.02)]);
        let mut sampled = source(Measured::Sampled, &[("lock", 0.01), ("commit", 0.03)]);
        sampled.error = Some(0.01);
        let after = |sources: &[Source], sessions: f64| {
            let mut taken = attribute(sources, None);
            let chance = without_chance(&mut taken, sources, sessions);
            [chance, taken["lock"].time, taken["commit"].time].map(|time| (time * 1e6).round() / 1e6)
        };
        let sources = [os, sampled];
        assert_eq!(after(&sources, 0.04), [0.02, 0.005, 0.015]);
        assert_eq!(after(&sources, 0.07), [0.0, 0.01, 0.03]);
        // Four times the error is something else: other clients.
        assert_eq!(after(&sources, 0.02), [0.0, 0.01, 0.03]);
        let mut exact = sources.clone();
        exact[1].error = None;
        assert_eq!(after(&exact, 0.04), [0.0, 0.01, 0.03]);
    }

    #[test]
    fn the_driver_and_round_trips_take_no_more_than_what_is_left() {
        let sources = [
            source(Measured::Os, &[(name::CPU, 1.0), (name::RUN_QUEUE, 2.0)]),
            source(Measured::Driver, &[(name::DRIVER_CPU, 0.5), (name::DRIVER_WAIT, 1.0)]),
            source(Measured::Ping, &[(name::NETWORK, 4.0)]),
        ];
        let after = |sessions: f64| {
            let mut taken = attribute(&sources, None);
            bound(&mut taken, sessions);
            [name::DRIVER_CPU, name::DRIVER_WAIT, name::NETWORK].map(|name| taken[name].time)
        };
        assert_eq!(after(10.0), [0.5, 1.0, 4.0]);
        assert_eq!(after(5.0), [0.5, 1.0, 0.5]);
        assert_eq!(after(3.25), [0.25, 0.0, 0.0]);
        assert_eq!(after(2.0), [0.0; 3]);
        // They are none of what waits are taken off for.
        let mut taken = attribute(&sources, None);
        assert_eq!(without_overlap(&mut taken, &sources, 3.0), 0.0);
    }

    #[test]
    fn times_that_are_none_are_not_taken() {
        let mut source = Source::new(Measured::Os);
        for time in [None, Some(f64::NAN), Some(-1.0)] {
            source.add(name::CPU, time, &[]);
        }
        assert!(attribute(&[source], None).is_empty());
    }
}
