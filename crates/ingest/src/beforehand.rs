//! What of an import has to be known before its inputs are read: the host of those that name none, and how long those without
//! times are.

use std::{
    collections::BTreeSet,
    io::Read,
    ops::Range,
    sync::{Arc, Mutex, atomic::Ordering},
};

use fenxi_formats::{AnyFormat, Foreign, Gathered, HEAD_BYTES, Hints, Input, Tally, overrun, overrun_in, survey};

use crate::{
    Content, Plan, Source,
    feed::Shared,
    inputs::host_in,
    looking::Looking,
    reading, same,
    short::{Group, Known, Short, Told, content_of, read_as},
};

/// The host of inputs of which nobody tells it.
pub(crate) const UNKNOWN: &str = "unknown";

/// Threads that look at inputs.
pub(crate) const MAX_THREADS: usize = 8;
/// Inputs for which a thread is worth being begun.
pub(crate) const FOR_A_THREAD: usize = 16;

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

/// What was found by `looking`, when all inputs were looked at.
pub(crate) fn learn(plan: &Plan, looking: &Looking<'_>) -> Beforehand {
    let (looked, mut ready) = looking.finish();
    let mut hosts = BTreeSet::new();
    for (source, looked) in plan.sources.iter().zip(&looked).filter(|_| plan.host.is_none()) {
        hosts.extend(hosts_told(source, looked.as_ref()).cloned());
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

/// The hosts that an input tells: those in its content, else that of its name.
pub(crate) fn hosts_told<'a>(source: &'a Source, looked: Option<&'a Looked>) -> impl Iterator<Item = &'a String> {
    let told = looked.and_then(|looked| Some(&looked.survey.as_ref()?.hosts)).filter(|hosts| !hosts.is_empty());
    let named = source.host.iter().filter(move |_| told.is_none());
    told.into_iter().flatten().chain(named)
}

/// Looks at neighbours. The group is given too if rows are to be `gathered` and these have their times.
pub(crate) fn look_at_group(
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
    // What is short is its own beginning.
    let content = Known { digest: (input.head_bytes() == &*content).then_some(head), content };
    let (short, gathered) = read_as(told, (&mut input, content), guessed, gathered, &mut group.rows);
    group.lacks_host |= plan.host.is_none() && source.host.is_none() && !short.tally.names_host_first;
    let is_settled = !short.tally.timed_by_writing;
    looked.survey = looked.format.is_some().then(|| short.tally.clone());
    (looked, is_settled.then_some(short), is_settled.then_some(gathered))
}

pub(crate) fn look_at(plan: &Plan, source: &Source) -> Option<Looked> {
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
