//! Threads that look at the inputs of an import before it reads them, neighbours together.
//!
//! Recognising costs more than reading where inputs are short, so that short ones are read at the same time. Groups that
//! nothing in other inputs changes are handed over in order while later ones are still looked at.

use std::{
    collections::BTreeSet,
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread::Scope,
    time::Duration,
};

use fenxi_formats::Gathered;

use crate::{
    Plan,
    beforehand::{FOR_A_THREAD, Looked, MAX_THREADS, hosts_told, look_at, look_at_group},
    feed::Shared,
    short::{Group, NEIGHBOURS},
};

/// Bytes of inputs whose rows are held from the first look on; of those beyond, the rows are read again.
const MOST_HELD: usize = 64 << 20;
/// Of so many hosts none is that of inputs which tell none.
const SEVERAL: usize = 2;
/// How long to wait for a group before asking whether the import is to end.
const PATIENCE: Duration = Duration::from_millis(100);

/// Inputs being looked at.
pub(crate) struct Looking<'p> {
    plan: &'p Plan,
    is_left_out: &'p (dyn Fn(usize) -> bool + Sync),
    shared: &'p Shared,
    /// Threads that look; none where there are few inputs.
    threads: usize,
    /// The group that is looked at next.
    next: AtomicUsize,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    looked: Vec<Option<Looked>>,
    groups: Vec<Progress>,
    /// Some of the hosts that inputs tell, two at most: where there are several, inputs that tell none are of none of them.
    hosts: BTreeSet<String>,
    /// Bytes of inputs whose rows are held.
    held: usize,
    /// Threads that have not ended.
    running: usize,
    /// Whether groups are taken while others are looked at: threads wait for that where much is held.
    is_taking: bool,
}

impl State {
    /// Whether the group at `turn` can be told from what was looked at so far: that it is settled, or that it is not.
    fn is_told(&self, turn: usize) -> bool {
        match self.groups.get(turn) {
            Some(Progress::Awaited) => false,
            Some(Progress::Looked(Some(group))) => group.is_settled(self.has_several()) == group.is_settled(true),
            _ => true,
        }
    }

    fn has_several(&self) -> bool {
        self.hosts.len() >= SEVERAL
    }

    fn add_hosts<'a>(&mut self, told: impl Iterator<Item = &'a String>) {
        for host in told {
            if !self.has_several() && !self.hosts.contains(host) {
                self.hosts.insert(host.clone());
            }
        }
    }
}

/// What became of a group.
enum Progress {
    Awaited,
    /// None when its rows were not gathered.
    Looked(Option<Group>),
    Taken,
}

impl<'p> Looking<'p> {
    pub(crate) fn new(plan: &'p Plan, is_left_out: &'p (dyn Fn(usize) -> bool + Sync), shared: &'p Shared) -> Self {
        let n = plan.sources.len();
        let most = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS).min(n / FOR_A_THREAD);
        let threads = if most < 2 { 0 } else { most };
        let groups = if threads == 0 { 0 } else { n.div_ceil(NEIGHBOURS) };
        let state = State {
            looked: plan.sources.iter().map(|_| None).collect(),
            groups: (0..groups).map(|_| Progress::Awaited).collect(),
            hosts: BTreeSet::new(),
            held: 0,
            running: threads,
            is_taking: true,
        };
        Looking {
            plan,
            is_left_out,
            shared,
            threads,
            next: AtomicUsize::new(0),
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    /// Begins to look.
    pub(crate) fn begin<'s>(&'s self, scope: &'s Scope<'s, '_>) {
        for _ in 0..self.threads {
            scope.spawn(|| {
                let _running = Running(self);
                self.look_at_groups();
            });
        }
    }

    /// The group at `turn`, once it was looked at, if nothing that other inputs tell changes what is to be written of it.
    /// Groups are asked for in order; `goes_on` is asked again and again meanwhile.
    pub(crate) fn settled(&self, turn: usize, goes_on: &mut dyn FnMut() -> bool) -> Option<Group> {
        let mut state = self.state();
        while !state.is_told(turn) && state.running > 0 {
            // What is to come may tell it: nobody waits for room then.
            state.is_taking = matches!(state.groups.get(turn), Some(Progress::Awaited));
            self.changed.notify_all();
            state = self.changed.wait_timeout(state, PATIENCE).unwrap_or_else(PoisonError::into_inner).0;
            if !goes_on() {
                self.shared.cancelled.store(true, Ordering::Relaxed);
                return None;
            }
        }
        state.is_taking = true;
        let several = state.has_several();
        let group = match state.groups.get_mut(turn)? {
            Progress::Looked(group) => group.take_if(|group| group.is_settled(several))?,
            Progress::Awaited | Progress::Taken => return None,
        };
        state.groups[turn] = Progress::Taken;
        state.held = state.held.saturating_sub(group.bytes());
        self.changed.notify_all();
        Some(group)
    }

    /// Waits until all inputs were looked at; gives what the beginning of each told, and the groups that were not taken.
    pub(crate) fn finish(&self) -> (Vec<Option<Looked>>, Vec<Option<Group>>) {
        let mut state = self.state();
        state.is_taking = false;
        self.changed.notify_all();
        while state.running > 0 {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let groups = std::mem::take(&mut state.groups).into_iter().map(|progress| match progress {
            Progress::Looked(group) => group,
            Progress::Awaited | Progress::Taken => None,
        });
        let (groups, mut looked) = (groups.collect(), std::mem::take(&mut state.looked));
        drop(state);
        if self.threads == 0 && !(self.plan.host.is_some() && looked.len() < FOR_A_THREAD) {
            looked = self.plan.sources.iter().map(|source| look_at(self.plan, source)).collect();
        }
        (looked, groups)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look_at_groups(&self) {
        let n = self.plan.sources.len();
        let mut room = Gathered::default();
        while let Some(holds) = self.await_room() {
            // Whoever has a turn looks at once: the groups behind it are not taken before.
            let turn = self.next.fetch_add(1, Ordering::Relaxed);
            let places = turn * NEIGHBOURS..((turn + 1) * NEIGHBOURS).min(n);
            if places.is_empty() {
                return;
            }
            let holds = holds && !places.clone().any(self.is_left_out);
            let (looked, group) = look_at_group(self.plan, places.clone(), holds.then(|| std::mem::take(&mut room)));
            room = group.as_ref().map_or_else(Gathered::default, Group::room);
            let mut state = self.state();
            state.held += group.as_ref().map_or(0, Group::bytes);
            let sources = &self.plan.sources[places.clone()];
            for (source, looked) in sources.iter().zip(&looked) {
                state.add_hosts(hosts_told(source, looked.as_ref()));
            }
            state.looked[places].iter_mut().zip(looked).for_each(|(place, one)| *place = one);
            state.groups[turn] = Progress::Looked(group);
            self.changed.notify_all();
        }
    }

    /// Whether there is room for the rows of one more group, waiting for it as long as groups are taken; None when the import
    /// is to end.
    fn await_room(&self) -> Option<bool> {
        let mut state = self.state();
        while state.held >= MOST_HELD && state.is_taking && !self.shared.cancelled.load(Ordering::Relaxed) {
            state = self.changed.wait_timeout(state, PATIENCE).unwrap_or_else(PoisonError::into_inner).0;
        }
        (!self.shared.cancelled.load(Ordering::Relaxed)).then_some(state.held < MOST_HELD)
    }
}

/// A thread that looks: however it ends, nobody waits for it any longer.
struct Running<'a, 'p>(&'a Looking<'p>);

impl Drop for Running<'_, '_> {
    fn drop(&mut self) {
        self.0.state().running -= 1;
        self.0.changed.notify_all();
    }
}
