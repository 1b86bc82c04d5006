//! What of an import has to be known before its inputs are read: the host of those that name none, and how long those without
//! times are.

use std::{collections::BTreeSet, io::Read, sync::atomic::Ordering};

use fenxi_formats::{AnyFormat, HEAD_BYTES, Hints, Input, overrun, survey};

use crate::{Content, Plan, Source, feed::Shared, same};

/// The host of inputs of which nobody tells it.
const UNKNOWN: &str = "unknown";

/// The one host that names or contents of the inputs tell, for those that tell none; `unknown`
/// when there are none or several.
pub(crate) fn common_host(plan: &Plan) -> String {
    let mut hosts = BTreeSet::new();
    for source in plan.sources.iter().filter(|_| plan.host.is_none()) {
        let told = told_hosts(plan, source);
        match &source.host {
            Some(host) if told.is_empty() => hosts.insert(host.clone()),
            _ => {
                hosts.extend(told);
                false
            }
        };
    }
    match (hosts.len(), hosts.pop_first()) {
        (1, Some(host)) => host,
        _ => UNKNOWN.to_owned(),
    }
}

/// The hosts that the beginning of an input names.
fn told_hosts(plan: &Plan, source: &Source) -> BTreeSet<String> {
    let Some(head) = same::head(source, HEAD_BYTES) else { return BTreeSet::new() };
    let mut input = Input::new(&head[..]);
    let (Some(format), _) = plan.recognise(&input) else { return BTreeSet::new() };
    if !format.surveys() {
        return BTreeSet::new();
    }
    survey(&format, &mut input, &Hints::none(&source.name)).hosts
}

/// What is to be said of the host of an input that names none; `default_host` is that of all inputs together.
pub(crate) fn guessed_host(plan: &Plan, source: &Source, default_host: &str) -> Option<String> {
    if plan.host.is_some() {
        return None;
    }
    match &source.host {
        Some(host) => Some(format!("the host `{host}`, as the file's name says (or give --host)")),
        None if default_host == UNKNOWN => None,
        None => Some(format!("the host `{default_host}`, as the other files are of it (or give --host)")),
    }
}

/// By how many seconds an input without times would end after its last writing; None where it cannot be read twice.
/// `head` is its beginning, which tells whether it has times.
pub(crate) fn overrun_of(
    source: &Source,
    format: &AnyFormat,
    head: &str,
    hints: &Hints,
    (plan, shared): (&Plan, &Shared),
) -> Option<f64> {
    if matches!(source.content, Content::Stdin(_)) || !format.surveys() {
        return None;
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
