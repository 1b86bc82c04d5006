//! Short inputs of an import of many: a few threads read them ahead, some neighbours at a time into the same rows, and the
//! import takes them in order.

use std::{
    io::Read,
    sync::{
        Arc, Mutex,
        atomic::Ordering,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::Scope,
};

use fenxi_formats::{AnyFormat, Foreign, Gathered, HEAD_BYTES, Hints, Input, Out, Tally};
use fenxi_model::Rows;
use fs_err as fs;

use crate::{
    Content, Plan, Source,
    beforehand::{FOR_A_THREAD, Looked, MAX_THREADS, guessed_host, overrun_of},
    feed::{SHORT, Shared},
    reading::{hints, read_into, source_of},
    unpack::Packing,
};

// What is short is looked at as a whole.
const _: () = assert!(SHORT <= HEAD_BYTES);

/// Neighbours that are read into the same rows.
pub(crate) const NEIGHBOURS: usize = 32;
/// Groups of neighbours that a thread may be ahead.
const AHEAD: usize = 2;

/// A short input that was read.
pub(crate) struct Short {
    pub(crate) content: Arc<[u8]>,
    pub(crate) blake3: String,
    pub(crate) format: Option<AnyFormat>,
    pub(crate) foreign: Option<Foreign>,
    pub(crate) tally: Tally,
}

/// Neighbours that were read: what became of each, None where the import is to read it itself, and the rows of all.
#[derive(Default)]
pub(crate) struct Group {
    pub(crate) inputs: Vec<Option<Short>>,
    pub(crate) rows: Vec<(Rows, bool)>,
    /// Whether it was read without a host for rows whose input tells none.
    pub(crate) lacks_host: bool,
}

/// What all threads look at.
#[derive(Clone, Copy)]
pub(crate) struct Job<'p> {
    pub(crate) plan: &'p Plan,
    /// The first input that is not written yet, and the first of its group.
    pub(crate) from: usize,
    /// What the beginning of each input told.
    pub(crate) looked: &'p [Option<Looked>],
    /// Groups that were read when they were looked at.
    pub(crate) ready: &'p [Mutex<Option<Group>>],
    /// Whether the input at a place is left out.
    pub(crate) is_left_out: &'p (dyn Fn(usize) -> bool + Sync),
    pub(crate) default_host: &'p str,
    pub(crate) shared: &'p Shared,
}

/// The groups to come, each from the thread whose turn it is.
pub(crate) struct Shorts {
    threads: Vec<Receiver<Group>>,
    from: usize,
    group: Group,
}

impl Shorts {
    /// Begins to read; nothing is read ahead where there are few inputs.
    pub(crate) fn begin<'s, 'p: 's>(scope: &'s Scope<'s, 'p>, job: Job<'p>) -> Shorts {
        let n = job.plan.sources.len().saturating_sub(job.from);
        let most = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
        let threads = if n < FOR_A_THREAD { 0 } else { most.min(n.div_ceil(NEIGHBOURS)) };
        let begin = |turn| {
            let (sender, receiver) = sync_channel(AHEAD);
            scope.spawn(move || read_groups(job, turn, threads, &sender));
            receiver
        };
        Shorts { threads: (0..threads).map(begin).collect(), from: job.from, group: Group::default() }
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
    pub(crate) fn take(&mut self, place: usize) -> Option<Short> {
        self.group.inputs.get_mut(place % NEIGHBOURS)?.take()
    }
}

fn read_groups(job: Job<'_>, turn: usize, threads: usize, to: &SyncSender<Group>) {
    let n = job.plan.sources.len();
    let mut room = Gathered::default();
    for first in (job.from + turn * NEIGHBOURS..n).step_by(threads * NEIGHBOURS) {
        let ready = job.ready.get(first / NEIGHBOURS).and_then(|group| group.lock().ok()?.take());
        let read = |room| read_group(job, first..(first + NEIGHBOURS).min(n), room);
        let group = ready.unwrap_or_else(|| read(std::mem::take(&mut room)));
        room = group.room();
        if job.shared.cancelled.load(Ordering::Relaxed) || to.send(group).is_err() {
            return;
        }
    }
}

fn read_group(job: Job<'_>, places: std::ops::Range<usize>, mut gathered: Gathered) -> Group {
    let mut group = Group::default();
    for place in places {
        let (short, after) = match (job.is_left_out)(place) {
            true => (None, gathered),
            false => read_short(job, place, gathered, &mut group.rows),
        };
        group.inputs.push(short);
        gathered = after;
    }
    group.end(gathered);
    group
}

impl Group {
    /// Takes the rows that were not handed on yet.
    pub(crate) fn end(&mut self, Gathered { rows, boot }: Gathered) {
        self.rows.extend([(rows, false), (boot, true)].into_iter().filter(|(rows, _)| !rows.is_empty()));
    }

    /// Whether all of it can be written before other inputs were looked at: each input was read, is of a shipped format, and
    /// names its host or has one, unless there are `several` hosts.
    pub(crate) fn is_settled(&self, several: bool) -> bool {
        let is_shipped = |short: &Short| short.format.as_ref().is_none_or(|format| format.owns().next().is_none());
        (several || !self.lacks_host) && self.inputs.iter().all(|input| input.as_ref().is_some_and(is_shipped))
    }

    /// What the next group is gathered into, with room for as many rows as this one has.
    pub(crate) fn room(&self) -> Gathered {
        let mut room = Gathered::default();
        for (rows, since_boot) in &self.rows {
            *(if *since_boot { &mut room.boot } else { &mut room.rows }) = rows.like();
        }
        room
    }

    /// Bytes of the inputs that were read.
    pub(crate) fn bytes(&self) -> usize {
        self.inputs.iter().flatten().map(|short| short.content.len()).sum()
    }
}

/// Reads the input at `place` if it is short and of a format that can be read anywhere. An unknown text is not: how much of
/// it becomes a fact depends on those before it. Nor is what a program reads.
fn read_short(
    job: Job<'_>,
    place: usize,
    gathered: Gathered,
    handed_on: &mut Vec<(Rows, bool)>,
) -> (Option<Short>, Gathered) {
    let source = &job.plan.sources[place];
    let Some(looked) = job.looked[place].as_ref().filter(|looked| looked.is_known()) else { return (None, gathered) };
    let Some(content) = content_of(source) else { return (None, gathered) };
    let mut input = Input::of(content.to_vec());
    let head = blake3::hash(input.head_bytes());
    if looked.head != head {
        return (None, gathered);
    }
    let content = Known { digest: (input.head_bytes() == &*content).then_some(head), content };
    let mut hints = hints(job.plan, source, job.default_host);
    if let Some(format) = &looked.format {
        hints.overrun_s = overrun_of(source, (format, Some(looked)), &input.head(), &hints, (job.plan, job.shared));
    }
    let told = Told { format: looked.format.clone(), foreign: looked.foreign, hints };
    let guessed = guessed_host(job.plan, source, job.default_host);
    let (short, gathered) = read_as(told, (&mut input, content), guessed, gathered, handed_on);
    (Some(short), gathered)
}

/// What is known of an input before it is read.
pub(crate) struct Told {
    pub(crate) format: Option<AnyFormat>,
    pub(crate) foreign: Option<Foreign>,
    pub(crate) hints: Hints,
}

/// A short input, and its BLAKE3 where that is known.
pub(crate) struct Known {
    pub(crate) content: Arc<[u8]>,
    pub(crate) digest: Option<blake3::Hash>,
}

/// Reads a short input, its rows behind those `gathered` before.
pub(crate) fn read_as(
    Told { format, foreign, hints }: Told,
    (input, Known { content, digest }): (&mut Input<'_>, Known),
    guessed: Option<String>,
    gathered: Gathered,
    handed_on: &mut Vec<(Rows, bool)>,
) -> (Short, Gathered) {
    let mut out = Out::onto(gathered, source_of(format.as_ref()), hints, |rows: &mut Rows, since_boot| {
        handed_on.push((rows.take(), since_boot));
    });
    read_into(input, &mut out, (format.as_ref(), foreign.as_ref()), guessed, |_, _| {});
    let (tally, gathered) = out.leave_open();
    let blake3 = digest.unwrap_or_else(|| blake3::hash(&content)).to_hex().to_string();
    (Short { content, blake3, format, foreign, tally }, gathered)
}

/// All of a plain input that is shorter than [`SHORT`], and so of its [`HEAD_BYTES`].
pub(crate) fn content_of(source: &Source) -> Option<Arc<[u8]>> {
    let content: Arc<[u8]> = match &source.content {
        Content::Held(bytes) => Arc::clone(bytes),
        Content::File(path) | Content::Member { path, .. } => {
            let mut bytes = Vec::new();
            let file = fs::File::open(path).ok()?;
            let is_short = file.metadata().is_ok_and(|meta| meta.is_file() && meta.len() < SHORT as u64);
            (if is_short { file.take(SHORT as u64).read_to_end(&mut bytes) } else { return None }).ok()?;
            bytes.into()
        }
        Content::Part { .. } => {
            let mut bytes = Vec::new();
            source.content.open().ok()?.take(SHORT as u64).read_to_end(&mut bytes).ok()?;
            bytes.into()
        }
        Content::Stdin(_) => return None,
    };
    (content.len() < SHORT && Packing::of(&content) == Packing::Plain).then_some(content)
}
