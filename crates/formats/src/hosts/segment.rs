//! A segment of a text that has outputs of several hosts or commands, or that a format could not read: people put outputs below each
//! other, with nothing that shows where one ends.

use crate::{AnyFormat, Format, Formats, HEAD_BYTES, Head, Input, Out, Sure, stamp};

/// Blank lines between two lines of one output.
const MOST_BLANK: u64 = 3;
/// Lines of an output, at least.
const FEWEST: usize = 2;
/// Regions of one text that are looked at.
const MOST: usize = 64;
/// Formats that read within what another left, at most: parts of a session are the first.
const DEEPEST: u8 = 4;

/// Output of one host or one command.
#[derive(Default)]
pub(super) struct Segment {
    /// Its host; empty when it is unknown.
    pub(super) host: String,
    pub(super) text: String,
    /// The number in the whole text of each line.
    pub(super) lines: Vec<u64>,
}

impl Segment {
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

/// Reads `input` as `format`, and what it leaves as whatever is certain that it is its own.
pub(crate) fn read_with_rest(format: &'static Format, input: &mut Input<'_>, out: &mut Out<'_>) {
    let above = out.begin_unread();
    (format.read)(input, out);
    let (unread, depth) = out.end_unread(above);
    if depth >= DEEPEST {
        return;
    }
    let formats = Formats::default();
    for part in regions(unread).into_iter().filter(|part| part.lines.len() >= FEWEST).take(MOST) {
        // A format that knows less of its text in another place is not asked again.
        let other = part.format(&formats).filter(|(sure, other)| *sure == Sure::Certain && other.name() != format.name);
        if let Some((_, other)) = other {
            out.begin_part(other.name(), &part.host, part.lines);
            other.read(&mut Input::new(part.text.as_bytes()), out);
            out.end_part(format.name);
        }
    }
}

/// Lines that stand together, with the blank ones between them.
fn regions(unread: Vec<(u64, String)>) -> Vec<Segment> {
    let mut parts: Vec<Segment> = Vec::new();
    for (number, line) in unread {
        let last = parts
            .last_mut()
            .filter(|part| part.lines.last().is_some_and(|last| (*last..=last + MOST_BLANK + 1).contains(&number)));
        let part = match last {
            Some(part) => part,
            None => {
                parts.push(Segment::default());
                let Some(part) = parts.last_mut() else { continue };
                part
            }
        };
        let after = part.lines.last().map_or(number, |last| last + 1);
        for blank in after..number {
            part.add(blank, "");
        }
        part.add(number, &line);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_stand_together_are_one_region() {
        let lines = [(3, "a"), (4, "b"), (6, "c"), (20, "d"), (2, "e")];
        let parts = regions(lines.map(|(n, line)| (n, line.to_owned())).to_vec());
        let texts: Vec<&str> = parts.iter().map(|part| part.text.as_str()).collect();
        assert_eq!(texts, ["a\nb\n\nc\n", "d\n", "e\n"]);
        assert_eq!(parts[0].lines, [3, 4, 5, 6]);
    }
}
