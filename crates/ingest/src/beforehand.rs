//! What of an import has to be known before its inputs are read: the host of those that name none, and how long those without
//! times are.

use std::{
    collections::BTreeSet,
    io::Read,
    ops::Range,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use fenxi_formats::{AnyFormat, Foreign, Gathered, HEAD_BYTES, Hints, Input, Tally, overrun, overrun_in, survey};

use crate::{
    Content, Plan, Source,
    feed::Shared,
    inputs::host_in,
    reading, same,
    short::{Group, NEIGHBOURS, Short, Told, content_of, read_as},
};

/// The host of inputs of which nobody tells it.
const UNKNOWN: &str = "unknown";

/// Threads that look at inputs.
pub(crate) const MAX_THREADS: usize = 8;
/// Inputs for which a thread is worth being begun.
pub(crate) const FOR_A_THREAD: usize = 16;
/// Bytes of inputs whose rows are kept from the first look on; of those beyond, the rows are read again.
const MOST_KEPT: usize = 64 << 20;

/// What the beginning of an input told.
pub(crate) struct Looked {
    /// The BLAKE3 of the beginning.
    pub(crate) head: blake3::Hash,
    pub(crate) format: Option<AnyFormat>,
    pub(crate) foreign: Option<Foreign>,
    /// What reading the beginning gave, where that was done to learn hosts.
    survey: Option<Tally>,
    /// Whether the beginning is all of it.
    is_whole: bool,
}

impl Looked {
    /// Whether it can be read without knowing other inputs, and more than once.
    pub(crate) fn is_known(&self) -> bool {
        self.foreign.is_some() || self.format.as_ref().is_some_and(AnyFormat::surveys)
    }
}

/// What the inputs tell before their rows are written.
pub(crate) struct Beforehand {
    /// The one host that names or contents of the inputs tell, for those that tell none: `unknown` when there are none or
    /// several.
    pub(crate) default_host: String,
    /// What the beginning of each input told, where it was looked at.
    pub(crate) looked: Vec<Option<Looked>>,
    /// Groups of [`NEIGHBOURS`] that were read at once, as nothing that other inputs tell changes their rows.
    pub(crate) ready: Vec<Mutex<Option<Group>>>,
}

pub(crate) fn look(plan: &Plan, is_left_out: &(dyn Fn(usize) -> bool + Sync)) -> Beforehand {
    let (looked, mut ready) = look_at_all(plan, is_left_out);
    let mut hosts = BTreeSet::new();
    for (source, looked) in plan.sources.iter().zip(&looked).filter(|_| plan.host.is_none()) {
        let told = looked.as_ref().and_then(|looked| Some(&looked.survey.as_ref()?.hosts));
        let told = told.filter(|hosts| !hosts.is_empty());
        match (told, &source.host) {
            (Some(told), _) => hosts.extend(told.iter().cloned()),
            (None, Some(host)) => drop(hosts.insert(host.clone())),
            (None, None) => {}
        }
    }
    let default_host = match (hosts.len(), hosts.pop_first()) {
        (1, Some(host)) => host,
        _ => UNKNOWN.to_owned(),
    };
    if default_host != UNKNOWN {
        ready.iter_mut().for_each(|group| drop(group.take_if(|group| group.lacks_host)));
    }
    let ready = ready.into_iter().map(Mutex::new).collect();
    Beforehand { default_host, looked, ready }
}

/// Recognising costs more than reading where inputs are short, and no input's waits for another's: many are looked at by
/// a few threads.
fn look_at_all(plan: &Plan, is_left_out: &(dyn Fn(usize) -> bool + Sync)) -> (Vec<Option<Looked>>, Vec<Option<Group>>) {
    let sources = &plan.sources;
    if plan.host.is_some() && sources.len() < FOR_A_THREAD {
        return (sources.iter().map(|_| None).collect(), Vec::new());
    }
    let most = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
    let threads = most.min(sources.len() / FOR_A_THREAD);
    if threads < 2 {
        return (sources.iter().map(|source| look_at(plan, source)).collect(), Vec::new());
    }
    let groups = sources.len().div_ceil(NEIGHBOURS);
    let (next, kept) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        let (mut found, mut room) = (Vec::new(), Gathered::default());
        loop {
            let turn = next.fetch_add(1, Ordering::Relaxed);
            if turn >= groups {
                return found;
            }
            let places = turn * NEIGHBOURS..((turn + 1) * NEIGHBOURS).min(sources.len());
            let keeps = kept.load(Ordering::Relaxed) < MOST_KEPT && !places.clone().any(is_left_out);
            let (looked, group) = look_at_group(plan, places, keeps.then(|| std::mem::take(&mut room)));
            room = group.as_ref().map_or_else(Gathered::default, Group::room);
            kept.fetch_add(group.as_ref().map_or(0, Group::bytes), Ordering::Relaxed);
            found.push((turn, looked, group));
        }
    };
    let mut looked: Vec<Option<Looked>> = sources.iter().map(|_| None).collect();
    let mut ready: Vec<Option<Group>> = (0..groups).map(|_| None).collect();
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        // A thread cannot panic; what it had looked at would be looked at again when it is read.
        for (turn, some, group) in running.into_iter().flat_map(|thread| thread.join().unwrap_or_default()) {
            looked.iter_mut().skip(turn * NEIGHBOURS).zip(some).for_each(|(place, one)| *place = one);
            ready[turn] = group;
        }
    });
    (looked, ready)
}

/// Looks at neighbours. The group is given too if rows are to be `gathered` and these have their times.
fn look_at_group(
    plan: &Plan,
    places: Range<usize>,
    mut gathered: Option<Gathered>,
) -> (Vec<Option<Looked>>, Option<Group>) {
    let (mut all, mut group) = (Vec::new(), Group::default());
    for source in &plan.sources[places] {
        let content = gathered.as_ref().and_then(|_| content_of(source));
        match (content, gathered.take()) {
            (Some(content), Some(before)) => {
                let (looked, read, after) = look_and_read(plan, (source, content), before, &mut group);
                all.push(Some(looked));
                group.inputs.push(read);
                gathered = after;
            }
            (_, before) => {
                all.push(look_at(plan, source));
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

/// Looks at a short input and reads it, its rows behind those `gathered` before. One whose times depend on how long it is has
/// to be read again, and so have its neighbours: nothing is gathered then.
fn look_and_read(
    plan: &Plan,
    (source, content): (&Source, Arc<[u8]>),
    gathered: Gathered,
    group: &mut Group,
) -> (Looked, Option<Short>, Option<Gathered>) {
    let mut input = Input::of(content.to_vec());
    let (format, foreign) = plan.recognise(&input);
    let head = blake3::hash(input.head_bytes());
    let mut looked = Looked { head, format: format.clone(), foreign, survey: None, is_whole: true };
    if !looked.is_known() {
        return (looked, None, Some(gathered));
    }
    let told = Told { format, foreign, hints: Hints { overrun_s: Some(0.0), ..reading::hints(plan, source, UNKNOWN) } };
    let guessed = guessed_host(plan, source, UNKNOWN);
    let (short, gathered) = read_as(told, (&mut input, content), guessed, gathered, &mut group.rows);
    group.lacks_host |= plan.host.is_none() && source.host.is_none() && !short.tally.names_host_first;
    let is_settled = !short.tally.timed_by_writing;
    looked.survey = looked.format.is_some().then(|| short.tally.clone());
    (looked, is_settled.then_some(short), is_settled.then_some(gathered))
}

fn look_at(plan: &Plan, source: &Source) -> Option<Looked> {
    let head = same::head(source, HEAD_BYTES)?;
    let is_whole = head.len() < HEAD_BYTES;
    let mut input = Input::of(head);
    let (format, foreign) = plan.recognise(&input);
    let head = blake3::hash(input.head_bytes());
    let surveyed = format.as_ref().filter(|format| plan.host.is_none() && format.surveys());
    let survey = surveyed.map(|format| survey(format, &mut input, &reading::hints(plan, source, UNKNOWN)));
    Some(Looked { head, format, foreign, survey, is_whole })
}

/// What is to be said of the host of an input that names none; `default_host` is that of all inputs together.
pub(crate) fn guessed_host(plan: &Plan, source: &Source, default_host: &str) -> Option<String> {
    if plan.host.is_some() {
        return None;
    }
    match &source.host {
        Some(host) => {
            let own = host_in(source.name.rsplit('/').next().unwrap_or(&source.name));
            let by = if own.as_ref() == Some(host) { "the file's name says" } else { "the folder that it is in says" };
            Some(format!("the host `{host}`, as {by} (or give --host)"))
        }
        None if default_host == UNKNOWN => None,
        None => Some(format!("the host `{default_host}`, as the other files are of it (or give --host)")),
    }
}

/// By how many seconds an input without times would end after its last writing; None where it cannot be read twice.
/// `head` is its beginning, which tells whether it has times, if not what it `looked` like did.
pub(crate) fn overrun_of(
    source: &Source,
    (format, looked): (&AnyFormat, Option<&Looked>),
    head: &str,
    hints: &Hints,
    (plan, shared): (&Plan, &Shared),
) -> Option<f64> {
    if matches!(source.content, Content::Stdin(_)) || !format.surveys() {
        return None;
    }
    if let Some(survey) = looked.filter(|looked| looked.is_whole).and_then(|looked| looked.survey.as_ref()) {
        return Some(overrun_in(survey, hints));
    }
    if head.len() < HEAD_BYTES {
        return Some(overrun(format, &mut Input::new(head.as_bytes()), hints));
    }
    if !survey(format, &mut Input::new(head.as_bytes()), hints).timed_by_writing {
        return Some(0.0);
    }
    let most = plan.most_bytes.unwrap_or(u64::MAX);
    let reader = Uncancelled { inner: source.content.unpacked().ok()?.take(most), shared };
    Some(overrun(format, &mut Input::new(reader), hints))
}

/// An input that ends when the import is cancelled.
struct Uncancelled<'a, R> {
    inner: R,
    shared: &'a Shared,
}

impl<R: Read> Read for Uncancelled<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.shared.cancelled.load(Ordering::Relaxed) {
            return Ok(0);
        }
        self.inner.read(into)
    }
}
