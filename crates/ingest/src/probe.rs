//! Stage 1 of an import, in threads that probe its inputs: the format and the hosts of each, from its beginning.
//!
//! Recognising costs more than reading where inputs are short, so that short neighbours are read as they are probed. Groups
//! that nothing in other inputs changes are handed to the import's thread in order while later ones are still probed.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread::Scope,
    time::Duration,
};

use fenxi_formats::{Gathered, HEAD_BYTES, Hints, Input, Tally, survey};

use crate::{
    dedup,
    group::{Group, NEIGHBOURS, ReadAs, SmallContent, SmallFile, content_of, read_small},
    parse::Recognised,
    plan::{Plan, UNKNOWN_HOST},
    progress::{SharedProgress, Watch},
    source::Source,
};

/// Threads that probe or read inputs.
const MAX_THREADS: usize = 8;
/// Inputs from which on a thread is worth starting.
pub(crate) const FOR_A_THREAD: usize = 16;
/// Bytes of inputs whose rows are held from the probe on; of those beyond, the rows are read again.
const MOST_HELD: usize = 64 << 20;
/// Of so many hosts none is that of inputs which name none.
const SEVERAL: usize = 2;
/// How long to wait for a group before asking whether the import is to end.
const PATIENCE: Duration = Duration::from_millis(100);

/// How many threads this machine is to probe or read inputs with, at most.
pub(crate) fn max_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS)
}

/// Result of recognising the beginning of an input.
pub(crate) struct Probe {
    /// The BLAKE3 of the beginning.
    pub(crate) head: blake3::Hash,
    pub(crate) recognised: Recognised,
    /// Tally of reading the beginning, where that was done to learn hosts.
    survey: Option<Tally>,
    /// Whether the beginning is all of it.
    is_whole: bool,
}

impl Probe {
    /// Probes an input; None of one that cannot be read, or not twice.
    fn new(plan: &Plan, source: &Source) -> Option<Probe> {
        let head = dedup::head(source, HEAD_BYTES)?;
        let is_whole = head.len() < HEAD_BYTES;
        let mut input = Input::of(head);
        let recognised = plan.recognise(&input);
        let head = blake3::hash(input.head_bytes());
        let surveyed = recognised.format.as_ref().filter(|format| plan.host.is_none() && format.surveys());
        let survey = surveyed.map(|format| survey(format, &mut input, &plan.hints(source, UNKNOWN_HOST)));
        Some(Probe { head, recognised, survey, is_whole })
    }

    /// The hosts that an input names: those in its content, else that of its name.
    pub(crate) fn hosts<'a>(source: &'a Source, probe: Option<&'a Probe>) -> impl Iterator<Item = &'a String> {
        let read = probe.and_then(|probe| Some(&probe.survey.as_ref()?.hosts)).filter(|hosts| !hosts.is_empty());
        let named = source.host.iter().filter(move |_| read.is_none());
        read.into_iter().flatten().chain(named)
    }

    /// Tally of reading all of the input, where the probe did that.
    pub(crate) fn whole_survey(&self) -> Option<&Tally> {
        self.survey.as_ref().filter(|_| self.is_whole)
    }
}

/// Probes neighbours. The group is given too if rows are to be `gathered` and these have their times.
fn probe_group(
    plan: &Plan,
    places: Range<usize>,
    mut gathered: Option<Gathered>,
) -> (Vec<Option<Probe>>, Option<Group>) {
    let (mut all, mut group) = (Vec::new(), Group::default());
    for source in &plan.sources[places] {
        let content = gathered.as_ref().and_then(|_| content_of(source));
        match (content, gathered.take()) {
            (Some(content), Some(before)) => {
                let (probe, read, after) = probe_and_read(plan, (source, content), before, &mut group);
                all.push(Some(probe));
                group.inputs.push(read);
                gathered = after;
            }
            (_, before) => {
                all.push(Probe::new(plan, source));
                group.inputs.push(None);
                gathered = before;
            }
        }
    }
    let ready = gathered.map(|gathered| {
        group.end(gathered);
        group
    });
    (all, ready)
}

/// Probes a short input and reads it, its rows behind those `gathered` before. One whose times depend on how long it is has
/// to be read again, and so have its neighbours: nothing is gathered then.
fn probe_and_read(
    plan: &Plan,
    (source, bytes): (&Source, Arc<[u8]>),
    gathered: Gathered,
    group: &mut Group,
) -> (Probe, Option<SmallFile>, Option<Gathered>) {
    let mut input = Input::of(bytes.to_vec());
    let recognised = plan.recognise(&input);
    let head = blake3::hash(input.head_bytes());
    let mut probe = Probe { head, recognised: recognised.clone(), survey: None, is_whole: true };
    if !recognised.is_repeatable() {
        return (probe, None, Some(gathered));
    }
    let hints = Hints { overrun_s: Some(0.0), ..plan.hints(source, UNKNOWN_HOST) };
    let read_as = ReadAs { recognised, hints, assumed_host: plan.assumed_host(source, UNKNOWN_HOST) };
    // A short input is its own beginning.
    let content = SmallContent { digest: (input.head_bytes() == &*bytes).then_some(head), bytes };
    let (small, gathered) = read_small(read_as, (&mut input, content), gathered, &mut group.rows);
    group.lacks_host |= plan.host.is_none() && source.host.is_none() && !small.tally.names_host_first;
    let is_settled = !small.tally.timed_by_writing;
    probe.survey = probe.recognised.format.is_some().then(|| small.tally.clone());
    (probe, is_settled.then_some(small), is_settled.then_some(gathered))
}

/// Inputs being probed.
pub(crate) struct Probing<'p> {
    plan: &'p Plan,
    /// Inputs that are not read, by their places.
    duplicates: &'p BTreeMap<usize, usize>,
    shared: &'p SharedProgress,
    /// Threads that probe; none where there are few inputs.
    threads: usize,
    /// The group that is probed next.
    next: AtomicUsize,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    probes: Vec<Option<Probe>>,
    groups: Vec<GroupState>,
    /// Some of the hosts that inputs name, two at most: where there are several, inputs that name none are of none of them.
    hosts: BTreeSet<String>,
    /// Bytes of inputs whose rows are held.
    held: usize,
    /// Threads that have not ended.
    running: usize,
    /// Whether groups are taken while others are probed: threads wait for that where much is held.
    is_taking: bool,
}

impl State {
    /// Whether what was probed so far decides that the group at `turn` is settled, or that it is not.
    fn is_decided(&self, turn: usize) -> bool {
        match self.groups.get(turn) {
            Some(GroupState::Awaited) => false,
            Some(GroupState::Probed(Some(group))) => group.is_settled(self.has_several()) == group.is_settled(true),
            _ => true,
        }
    }

    fn has_several(&self) -> bool {
        self.hosts.len() >= SEVERAL
    }

    fn add_hosts<'a>(&mut self, named: impl Iterator<Item = &'a String>) {
        for host in named {
            if !self.has_several() && !self.hosts.contains(host) {
                self.hosts.insert(host.clone());
            }
        }
    }
}

/// State of a group.
enum GroupState {
    Awaited,
    /// None when its rows were not gathered.
    Probed(Option<Group>),
    Taken,
}

impl<'p> Probing<'p> {
    pub(crate) fn new(plan: &'p Plan, duplicates: &'p BTreeMap<usize, usize>, shared: &'p SharedProgress) -> Self {
        let n = plan.sources.len();
        let most = max_threads().min(n / FOR_A_THREAD);
        let threads = if most < 2 { 0 } else { most };
        let groups = if threads == 0 { 0 } else { n.div_ceil(NEIGHBOURS) };
        let state = State {
            probes: plan.sources.iter().map(|_| None).collect(),
            groups: (0..groups).map(|_| GroupState::Awaited).collect(),
            hosts: BTreeSet::new(),
            held: 0,
            running: threads,
            is_taking: true,
        };
        Probing {
            plan,
            duplicates,
            shared,
            threads,
            next: AtomicUsize::new(0),
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    /// Starts the threads.
    pub(crate) fn begin<'s>(&'s self, scope: &'s Scope<'s, '_>) {
        for _ in 0..self.threads {
            scope.spawn(|| {
                let _running = Running(self);
                self.probe_groups();
            });
        }
    }

    /// The group at `turn`, once it was probed, if nothing in other inputs changes what is to be written of it. For the import's
    /// thread, which asks for groups in order, and shows `watch` meanwhile that it is at `name` after `rows` rows.
    pub(crate) fn settled(&self, turn: usize, watch: &mut Watch<'_>, (name, rows): (&str, u64)) -> Option<Group> {
        let mut state = self.state();
        while !state.is_decided(turn) && state.running > 0 {
            // Inputs to come may decide it: no thread waits for capacity then.
            state.is_taking = matches!(state.groups.get(turn), Some(GroupState::Awaited));
            self.changed.notify_all();
            state = self.changed.wait_timeout(state, PATIENCE).unwrap_or_else(PoisonError::into_inner).0;
            if !watch(self.shared.at(name, rows)) {
                self.shared.cancel();
                return None;
            }
        }
        state.is_taking = true;
        let several = state.has_several();
        let group = match state.groups.get_mut(turn)? {
            GroupState::Probed(group) => group.take_if(|group| group.is_settled(several))?,
            GroupState::Awaited | GroupState::Taken => return None,
        };
        state.groups[turn] = GroupState::Taken;
        state.held = state.held.saturating_sub(group.bytes());
        self.changed.notify_all();
        Some(group)
    }

    /// Waits until all inputs were probed; gives the probe of each, and the groups that were not taken.
    pub(crate) fn finish(&self) -> (Vec<Option<Probe>>, Vec<Option<Group>>) {
        let mut state = self.state();
        state.is_taking = false;
        self.changed.notify_all();
        while state.running > 0 {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let groups = std::mem::take(&mut state.groups).into_iter().map(|state| match state {
            GroupState::Probed(group) => group,
            GroupState::Awaited | GroupState::Taken => None,
        });
        let (groups, mut probes) = (groups.collect(), std::mem::take(&mut state.probes));
        drop(state);
        if self.threads == 0 && !(self.plan.host.is_some() && probes.len() < FOR_A_THREAD) {
            probes = self.plan.sources.iter().map(|source| Probe::new(self.plan, source)).collect();
        }
        (probes, groups)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn probe_groups(&self) {
        let n = self.plan.sources.len();
        let mut next = Gathered::default();
        while let Some(holds) = self.await_capacity() {
            // A thread whose turn it is probes at once: the groups behind it are not taken before.
            let turn = self.next.fetch_add(1, Ordering::Relaxed);
            let places = turn * NEIGHBOURS..((turn + 1) * NEIGHBOURS).min(n);
            if places.is_empty() {
                return;
            }
            let holds = holds && self.duplicates.range(places.clone()).next().is_none();
            let (probes, group) = probe_group(self.plan, places.clone(), holds.then(|| std::mem::take(&mut next)));
            next = group.as_ref().map_or_else(Gathered::default, Group::next_gathered);
            let mut state = self.state();
            state.held += group.as_ref().map_or(0, Group::bytes);
            let sources = &self.plan.sources[places.clone()];
            for (source, probe) in sources.iter().zip(&probes) {
                state.add_hosts(Probe::hosts(source, probe.as_ref()));
            }
            state.probes[places].iter_mut().zip(probes).for_each(|(place, one)| *place = one);
            state.groups[turn] = GroupState::Probed(group);
            self.changed.notify_all();
        }
    }

    /// Whether the rows of one more group may be held, waiting for that as long as groups are taken; None when the import is
    /// to end.
    fn await_capacity(&self) -> Option<bool> {
        let mut state = self.state();
        while state.held >= MOST_HELD && state.is_taking && !self.shared.is_cancelled() {
            state = self.changed.wait_timeout(state, PATIENCE).unwrap_or_else(PoisonError::into_inner).0;
        }
        (!self.shared.is_cancelled()).then_some(state.held < MOST_HELD)
    }
}

/// A thread that probes: however it ends, no other waits for it any longer.
struct Running<'a, 'p>(&'a Probing<'p>);

impl Drop for Running<'_, '_> {
    fn drop(&mut self) {
        self.0.state().running -= 1;
        self.0.changed.notify_all();
    }
}
