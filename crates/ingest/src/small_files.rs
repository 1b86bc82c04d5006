//! Threads that read short inputs ahead of the import's thread, some neighbours at a time into the same rows; that takes them
//! in order.

use std::{
    collections::BTreeMap,
    ops::Range,
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread::Scope,
};

use fenxi_formats::{Gathered, Input};
use fenxi_model::Rows;

use crate::{
    group::{Group, NEIGHBOURS, ReadAs, SmallContent, SmallFile, content_of, read_small},
    overrun::overrun_of,
    plan::Plan,
    probe::{FOR_A_THREAD, max_threads},
    progress::SharedProgress,
    read_plan::ReadPlan,
};

/// Groups of neighbours that a thread may be ahead.
const AHEAD: usize = 2;

/// Data that all threads read.
#[derive(Clone, Copy)]
pub(crate) struct Job<'p> {
    pub(crate) plan: &'p Plan,
    /// The first input that is not written yet, and the first of its group.
    pub(crate) from: usize,
    pub(crate) read_plan: &'p ReadPlan,
    /// Inputs that are not read, by their places.
    pub(crate) duplicates: &'p BTreeMap<usize, usize>,
    pub(crate) shared: &'p SharedProgress,
}

/// The groups to come, each from the thread whose turn it is.
pub(crate) struct SmallFiles {
    threads: Vec<Receiver<Group>>,
    from: usize,
    group: Group,
}

impl SmallFiles {
    /// Starts the threads; nothing is read ahead where there are few inputs.
    pub(crate) fn begin<'s, 'p: 's>(scope: &'s Scope<'s, 'p>, job: Job<'p>) -> SmallFiles {
        let n = job.plan.sources.len().saturating_sub(job.from);
        let threads = if n < FOR_A_THREAD { 0 } else { max_threads().min(n.div_ceil(NEIGHBOURS)) };
        let begin = |turn| {
            let (sender, receiver) = sync_channel(AHEAD);
            scope.spawn(move || read_groups(job, turn, threads, &sender));
            receiver
        };
        SmallFiles { threads: (0..threads).map(begin).collect(), from: job.from, group: Group::default() }
    }

    /// The rows that come with the input at `place`, when it is the first of its group. To be called for each place in turn.
    pub(crate) fn rows_at(&mut self, place: usize) -> Vec<(Rows, bool)> {
        if !place.is_multiple_of(NEIGHBOURS) || self.threads.is_empty() {
            return Vec::new();
        }
        let turn = ((place - self.from) / NEIGHBOURS) % self.threads.len();
        // A thread that ended early was cancelled; the import finds that by itself.
        self.group = self.threads[turn].recv().unwrap_or_default();
        std::mem::take(&mut self.group.rows)
    }

    /// The input at `place`, if it was read.
    pub(crate) fn file_at(&mut self, place: usize) -> Option<SmallFile> {
        self.group.inputs.get_mut(place % NEIGHBOURS)?.take()
    }
}

fn read_groups(job: Job<'_>, turn: usize, threads: usize, to: &SyncSender<Group>) {
    let n = job.plan.sources.len();
    let mut next = Gathered::default();
    for first in (job.from + turn * NEIGHBOURS..n).step_by(threads * NEIGHBOURS) {
        let ready = job.read_plan.ready.get(first / NEIGHBOURS).and_then(|group| group.lock().ok()?.take());
        let read = |gathered| read_group(job, first..(first + NEIGHBOURS).min(n), gathered);
        let group = ready.unwrap_or_else(|| read(std::mem::take(&mut next)));
        next = group.next_gathered();
        if job.shared.is_cancelled() || to.send(group).is_err() {
            return;
        }
    }
}

fn read_group(job: Job<'_>, places: Range<usize>, mut gathered: Gathered) -> Group {
    let mut group = Group::default();
    for place in places {
        let (small, after) = match job.duplicates.contains_key(&place) {
            true => (None, gathered),
            false => read_one(job, place, gathered, &mut group.rows),
        };
        group.inputs.push(small);
        gathered = after;
    }
    group.end(gathered);
    group
}

/// Reads the input at `place` if it is short and of a format that can be read anywhere. An unknown text is not: how much of
/// it becomes a fact depends on those before it. Nor is what a program reads.
fn read_one(
    job: Job<'_>,
    place: usize,
    gathered: Gathered,
    handed_on: &mut Vec<(Rows, bool)>,
) -> (Option<SmallFile>, Gathered) {
    let (source, default_host) = (&job.plan.sources[place], job.read_plan.default_host.as_str());
    let probe = job.read_plan.probes[place].as_ref().filter(|probe| probe.recognised.is_repeatable());
    let Some((probe, bytes)) = probe.and_then(|probe| Some((probe, content_of(source)?))) else {
        return (None, gathered);
    };
    let mut input = Input::of(bytes.to_vec());
    let head = blake3::hash(input.head_bytes());
    if probe.head != head {
        return (None, gathered);
    }
    let content = SmallContent { digest: (input.head_bytes() == &*bytes).then_some(head), bytes };
    let mut hints = job.plan.hints(source, default_host);
    let recognised = probe.recognised.clone();
    hints.overrun_s = overrun_of(source, (&recognised, Some(probe)), &input.head(), &hints, job.shared);
    let read_as = ReadAs { recognised, hints, assumed_host: job.plan.assumed_host(source, default_host) };
    let (small, gathered) = read_small(read_as, (&mut input, content), gathered, handed_on);
    (Some(small), gathered)
}
