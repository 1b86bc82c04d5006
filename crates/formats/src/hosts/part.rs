//! A part of a text that has outputs of several hosts or commands.

use crate::{AnyFormat, Formats, HEAD_BYTES, Head, Sure, stamp};

/// What one host or one command printed.
#[derive(Default)]
pub(super) struct Part {
    /// Its host; empty when it is unknown.
    pub(super) host: String,
    pub(super) text: String,
    /// The number in the whole text of each line.
    pub(super) lines: Vec<u64>,
}

impl Part {
    /// Adds a line, and gives its length.
    pub(super) fn add(&mut self, number: u64, line: &str) -> usize {
        self.text.push_str(line);
        self.text.push('\n');
        self.lines.push(number);
        line.len() + 1
    }

    /// Takes the last line away if it is a time and nothing else: it belongs to what follows.
    pub(super) fn take_time(&mut self) -> Option<(u64, String)> {
        let last = self.text.trim_end().rsplit('\n').next()?;
        stamp(last).filter(|stamp| stamp.rest.trim().is_empty())?;
        let (at, last) = (self.text.trim_end().len() - last.len(), last.to_owned());
        let above = self.text[..at].matches('\n').count();
        let number = *self.lines.get(above)?;
        self.text.truncate(at);
        self.lines.truncate(above);
        Some((number, last))
    }

    /// Its format among `formats`, and how sure that is.
    pub(super) fn format(&self, formats: &Formats) -> Option<(Sure, AnyFormat)> {
        let end = (0..=self.text.len().min(HEAD_BYTES)).rev().find(|end| self.text.is_char_boundary(*end))?;
        formats.detect_part(&Head { text: self.text.get(..end)? })
    }
}
