//! A line cut at its blanks, without an allocation per line.

/// Cuts lines into fields; keeps its memory from line to line.
#[derive(Debug, Default)]
pub struct Splitter {
    ranges: Vec<(u32, u32)>,
}

/// The fields of one line.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a> {
    line: &'a str,
    ranges: &'a [(u32, u32)],
}

/// Cuts the next word off a text; None where there is none.
pub(crate) fn next_word<'l>(text: &mut &'l str) -> Option<&'l str> {
    let rest = text.trim_start();
    let end = rest.find(|c: char| c.is_ascii_whitespace()).unwrap_or(rest.len());
    let (word, rest) = rest.split_at(end);
    *text = rest;
    Some(word).filter(|word| !word.is_empty())
}

impl Splitter {
    /// The fields of `line`: the words between runs of blanks.
    pub fn blanks<'a>(&'a mut self, line: &'a str) -> Fields<'a> {
        self.ranges.clear();
        // `begin` is where the current field begins, or None between fields.
        let mut begin = None;
        let mut words = line.as_bytes().chunks_exact(8);
        let mut at = 0;
        for word in &mut words {
            // A word of a number, or of blanks, has one kind of bytes only: it changes nothing.
            let word = u64::from_le_bytes(word.try_into().unwrap_or_default());
            let mut changes = blanks_of(word, begin.is_none());
            while changes != 0 {
                let place = at + (changes.trailing_zeros() / 8) as usize;
                begin = self.turn(begin, place);
                changes &= changes - 1;
            }
            at += 8;
        }
        for byte in words.remainder() {
            if is_blank(*byte) != begin.is_none() {
                begin = self.turn(begin, at);
            }
            at += 1;
        }
        if let Some(begin) = begin {
            self.ranges.push((begin as u32, at as u32));
        }
        Fields { line, ranges: &self.ranges }
    }

    /// Begins a field at `place`, or ends the one there.
    #[inline]
    fn turn(&mut self, begin: Option<usize>, place: usize) -> Option<usize> {
        match begin {
            None => Some(place),
            Some(begin) => {
                self.ranges.push((begin as u32, place as u32));
                None
            }
        }
    }

    /// The fields of `line` between `separator`s, blanks around each removed.
    pub fn at<'a>(&'a mut self, line: &'a str, separator: u8) -> Fields<'a> {
        self.ranges.clear();
        let mut begin = 0;
        // A byte beyond ASCII is part of a character, and separates no fields.
        let text = if separator.is_ascii() { line.as_bytes() } else { &[] };
        let ends = memchr::memchr_iter(separator, text).chain(std::iter::once(line.len()));
        for end in ends {
            let field = &line[begin..end];
            let lead = field.len() - field.trim_start().len();
            let length = field.trim().len();
            self.ranges.push(((begin + lead) as u32, (begin + lead + length) as u32));
            begin = end + 1;
        }
        Fields { line, ranges: &self.ranges }
    }
}

/// Blanks are the space and every control character: line ends, tabs, and the NULs of old sysstat.
fn is_blank(byte: u8) -> bool {
    byte <= b' '
}

/// The places in `word` (the lowest byte first) where blanks begin or end, as the highest bit of their
/// bytes; `after_blank` is whether a blank precedes the word.
#[inline]
fn blanks_of(word: u64, after_blank: bool) -> u64 {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    const ABOVE_SPACE: u64 = 0x5f5f_5f5f_5f5f_5f5f;
    // Adding 0x5f carries into the highest bit of a byte from 0x21 on, and never beyond it.
    let blank = !(((word & !HIGH) + ABOVE_SPACE) | word) & HIGH;
    let before = blank << 8 | u64::from(after_blank) << 7;
    blank ^ before
}

impl<'a> Fields<'a> {
    /// Length.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Returns true if the line was blank.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Field `i`; empty beyond the last.
    #[inline]
    pub fn get(&self, i: usize) -> &'a str {
        self.ranges.get(i).map_or("", |(begin, end)| &self.line[*begin as usize..*end as usize])
    }

    /// The fields from `i` on.
    pub fn from(&self, i: usize) -> Fields<'a> {
        Fields { line: self.line, ranges: &self.ranges[i.min(self.ranges.len())..] }
    }

    /// The first `n` fields.
    pub fn to(&self, n: usize) -> Fields<'a> {
        Fields { line: self.line, ranges: &self.ranges[..n.min(self.ranges.len())] }
    }

    /// The line's text from the begin of field `i` to its end: for a last column with blanks in it.
    pub fn rest(&self, i: usize) -> &'a str {
        self.ranges.get(i).map_or("", |(begin, _)| self.line[*begin as usize..].trim_end())
    }

    /// All fields in order.
    pub fn iter(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let line = self.line;
        self.ranges.iter().map(move |(begin, end)| &line[*begin as usize..*end as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn words_of_eight_bytes_are_cut_as_bytes_are(line in "([ \t]{0,9}[0-9é%.]{0,11}){0,9}") {
            let mut splitter = Splitter::default();
            let fields: Vec<&str> = splitter.blanks(&line).iter().collect();
            let simply: Vec<&str> = line.split_ascii_whitespace().collect();
            proptest::prop_assert_eq!(fields, simply);
        }
    }

    #[test]
    fn a_line_is_cut_at_its_blanks_or_at_a_separator() {
        let mut splitter = Splitter::default();
        let fields = splitter.blanks("  a  bc\td e ");
        assert_eq!(fields.iter().collect::<Vec<_>>(), ["a", "bc", "d", "e"]);
        assert_eq!((fields.get(1), fields.get(9), fields.rest(2)), ("bc", "", "d e"));
        assert_eq!(fields.from(2).iter().collect::<Vec<_>>(), ["d", "e"]);
        assert_eq!(fields.to(2).iter().collect::<Vec<_>>(), ["a", "bc"]);
        let fields = splitter.at("a, b ,,c", b',');
        assert_eq!(fields.iter().collect::<Vec<_>>(), ["a", "b", "", "c"]);
        assert_eq!(splitter.at("aé", "é".as_bytes()[0]).iter().collect::<Vec<_>>(), ["aé"]);
    }
}
