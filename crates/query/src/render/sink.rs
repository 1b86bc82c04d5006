//! Where text of an answer is put: in memory, only so much of it, and until a moment.
//!
//! Whatever writes a value puts it here piece by piece and stops at the first [`Full`], also in the middle of a list. So a
//! value that grows when it is written (names of fields that are repeated, a dictionary, bytes as digits) takes no more
//! memory than is allowed.

use std::{
    fmt,
    io::{self, Write},
    time::Instant,
};

use crate::QueryError;

/// Limits of time and size for writing an answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Bytes of the whole answer; None for any number.
    pub bytes: Option<u64>,
    /// When writing has to be done; None for any time.
    pub until: Option<Instant>,
}

/// A limit was reached; [`Sink::error`] has which.
#[derive(Debug)]
pub(crate) struct Full;

/// Result of everything that writes to a sink.
pub(crate) type Written = Result<(), Full>;

impl From<fmt::Error> for Full {
    fn from(_: fmt::Error) -> Full {
        Full
    }
}

/// Bytes between two looks at the clock.
const STEP: usize = 16 << 10;
/// Bytes that are gathered before they leave.
const LONG: usize = 64 << 10;
/// Bytes that are held at most: a line of them, in which a value has grown, is none to be read by anybody.
const MOST_HELD: u64 = 256 << 20;

/// Text that is gathered, within limits.
#[derive(Default)]
pub(crate) struct Sink {
    text: String,
    limits: Limits,
    /// Bytes that have left.
    gone: u64,
    /// The length from which on the limits are looked at again.
    mark: usize,
    too_late: bool,
}

impl Sink {
    pub(crate) fn new(limits: Limits) -> Sink {
        Sink { limits, ..Sink::default() }
    }

    /// Another one with the same limits, to measure what will be written.
    pub(crate) fn beside(&self) -> Sink {
        Sink::new(self.limits)
    }

    /// Adds `text`, whole or not at all.
    #[inline]
    pub(crate) fn put(&mut self, text: &str) -> Written {
        if self.text.len().saturating_add(text.len()) > self.mark {
            self.look(text.len())?;
        }
        self.text.push_str(text);
        Ok(())
    }

    /// Adds so many blanks.
    pub(crate) fn blanks(&mut self, n: usize) -> Written {
        self.blanks_at(self.text.len(), n)
    }

    /// Adds so many blanks before what is here from `place` on.
    pub(crate) fn blanks_at(&mut self, place: usize, mut n: usize) -> Written {
        const BLANKS: &str = "                                                                ";
        while n > 0 {
            let part = n.min(BLANKS.len());
            if self.text.len() + part > self.mark {
                self.look(part)?;
            }
            self.text.insert_str(place, &BLANKS[..part]);
            n -= part;
        }
        Ok(())
    }

    /// Adds a whole number.
    pub(crate) fn whole(&mut self, value: i128) -> Written {
        let mut buffer = itoa::Buffer::new();
        match i64::try_from(value) {
            Ok(value) => self.put(buffer.format(value)),
            Err(_) => self.put(buffer.format(value)),
        }
    }

    #[cold]
    fn look(&mut self, more: usize) -> Written {
        let length = self.text.len().saturating_add(more);
        let room = self.limits.bytes.map_or(MOST_HELD, |bytes| bytes.saturating_sub(self.gone).min(MOST_HELD));
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        if length > room {
            return Err(Full);
        }
        if self.limits.until.is_some_and(|until| Instant::now() >= until) {
            self.too_late = true;
            return Err(Full);
        }
        self.mark = length.saturating_add(STEP).min(room);
        Ok(())
    }

    /// The text that is here.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// How much is here.
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// Takes away what is here from `start` on; it counts no longer, except for the time that it took.
    pub(crate) fn take_from(&mut self, start: usize) -> String {
        let taken = self.text[start..].to_owned();
        self.cut(start);
        taken
    }

    /// Takes away what is here from `start` on, as [`Sink::take_from`].
    pub(crate) fn cut(&mut self, start: usize) {
        self.mark = self.mark.saturating_sub(self.text.len() - start);
        self.text.truncate(start);
    }

    /// Takes away white space at the end of what is here from `start` on.
    pub(crate) fn trim_from(&mut self, start: usize) {
        let kept = self.text[start..].trim_end().len();
        self.cut(start + kept);
    }

    /// Lets what is here go to `out` once it is long.
    pub(crate) fn leave_if_long(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.text.len() >= LONG { self.leave(out) } else { Ok(()) }
    }

    /// Lets what is here go to `out`.
    pub(crate) fn leave(&mut self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(self.text.as_bytes())?;
        self.forget();
        Ok(())
    }

    /// Forgets what is here as if it had left.
    pub(crate) fn forget(&mut self) {
        self.gone += self.text.len() as u64;
        self.cut(0);
    }

    /// Why it is full.
    pub(crate) fn error(&self) -> QueryError {
        match self.limits.bytes {
            _ if self.too_late => QueryError::Interrupted,
            Some(bytes) => QueryError::TooLarge(bytes),
            None => QueryError::TooLarge(MOST_HELD),
        }
    }
}

impl fmt::Write for Sink {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.put(text).map_err(|Full| fmt::Error)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{LONG, Limits, STEP, Sink};
    use crate::QueryError;

    #[test]
    fn so_many_bytes_fit_and_not_one_more_also_after_some_have_left() {
        let mut sink = Sink::new(Limits { bytes: Some(100_000), until: None });
        let mut out = Vec::new();
        for _ in 0..10_000 {
            sink.put("0123456789").unwrap();
            sink.leave_if_long(&mut out).unwrap();
        }
        assert!(sink.put("x").is_err());
        assert!(matches!(sink.error(), QueryError::TooLarge(100_000)));
        assert!((LONG..100_000).contains(&out.len()));
        sink.leave(&mut out).unwrap();
        assert_eq!(out.len(), 100_000);
        assert!(sink.blanks(1).is_err());
        assert!(Sink::new(Limits { bytes: Some(0), until: None }).put("").is_ok());
    }

    #[test]
    fn what_is_taken_back_does_not_count() {
        let mut sink = Sink::new(Limits { bytes: Some(10), until: None });
        for _ in 0..100 {
            sink.put("12345").unwrap();
            assert_eq!(sink.take_from(1), "2345");
            sink.put("67890").unwrap();
            sink.cut(0);
        }
        sink.put("1234567890").unwrap();
        assert!(sink.put("x").is_err());
    }

    #[test]
    fn the_clock_is_looked_at_while_text_is_added() {
        let passed = Instant::now();
        let mut sink = Sink::new(Limits { bytes: None, until: Some(passed) });
        assert!(sink.put("x").is_err());
        assert!(matches!(sink.error(), QueryError::Interrupted));
        let mut sink = Sink::new(Limits { bytes: None, until: Some(passed + Duration::from_millis(50)) });
        let begin = Instant::now();
        while sink.put("x").is_ok() {
            sink.cut(0);
        }
        assert!(begin.elapsed() < Duration::from_secs(20));
        const { assert!(STEP < LONG) };
    }
}
