//! What a format could not read of a text may be another tool's output: people put several below each other, with nothing that
//! says where one ends.

use super::part::Part;
use crate::{Format, Formats, Input, Out, Sure};

/// Blank lines between two lines of one output.
const MOST_BLANK: u64 = 3;
/// Lines of an output, at least.
const FEWEST: usize = 2;

/// Reads `input` as `format`, and what it leaves as whatever is certain that it is its own.
pub(crate) fn read(format: &'static Format, input: &mut Input<'_>, out: &mut Out<'_>) {
    let above = out.begin_unread();
    (format.read)(input, out);
    let unread = out.end_unread(above);
    let formats = Formats::default();
    for part in regions(unread).into_iter().filter(|part| part.lines.len() >= FEWEST) {
        // A format that knows less of its own text elsewhere is not asked again.
        let other = part.format(&formats).filter(|(sure, other)| *sure == Sure::Certain && other.name() != format.name);
        if let Some((_, other)) = other {
            out.begin_part(other.name(), &part.host, part.lines);
            other.read(&mut Input::new(part.text.as_bytes()), out);
            out.end_part(format.name);
        }
    }
}

/// Lines that stand together, with the blank ones between them.
fn regions(unread: Vec<(u64, String)>) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for (number, line) in unread {
        let last = parts.last_mut().filter(|part| {
            part.lines.last().is_some_and(|last| (*last..=last + MOST_BLANK + 1).contains(&number))
        });
        let part = match last {
            Some(part) => part,
            None => {
                parts.push(Part::default());
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
