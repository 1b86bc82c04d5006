//! By how much an input without times would end after it was last written; in whichever thread reads that input.

use std::io::Read;

use fenxi_formats::{HEAD_BYTES, Hints, Input, overrun, overrun_in, survey};

use crate::{
    parse::Recognised,
    probe::Probe,
    progress::SharedProgress,
    source::{Content, Source},
};

/// Seconds by which an input without times would end after it was last written; None where it cannot be read twice.
/// `head` is its beginning, from which it is known whether it has times, where its probe found none.
pub(crate) fn overrun_of(
    source: &Source,
    (recognised, probe): (&Recognised, Option<&Probe>),
    head: &str,
    hints: &Hints,
    shared: &SharedProgress,
) -> Option<f64> {
    let format = recognised.format.as_ref()?;
    if matches!(source.content, Content::Stdin(_)) || !format.surveys() {
        return None;
    }
    if let Some(survey) = probe.and_then(Probe::whole_survey) {
        return Some(overrun_in(survey, hints));
    }
    if head.len() < HEAD_BYTES {
        return Some(overrun(format, &mut Input::new(head.as_bytes()), hints));
    }
    if !survey(format, &mut Input::new(head.as_bytes()), hints).timed_by_writing {
        return Some(0.0);
    }
    let most = shared.most_unpacked().unwrap_or(u64::MAX);
    let reader = UntilCancelled { inner: source.content.unpacked().ok()?.take(most), shared };
    Some(overrun(format, &mut Input::new(reader), hints))
}

/// An input that ends when the import is cancelled.
struct UntilCancelled<'a, R> {
    inner: R,
    shared: &'a SharedProgress,
}

impl<R: Read> Read for UntilCancelled<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.shared.is_cancelled() { Ok(0) } else { self.inner.read(into) }
    }
}
