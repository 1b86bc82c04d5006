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

impl Splitter {
    /// The fields of `line`: what stands between runs of blanks.
    pub fn blanks<'a>(&'a mut self, line: &'a str) -> Fields<'a> {
        self.ranges.clear();
        let bytes = line.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            if bytes[at].is_ascii_whitespace() {
                at += 1;
                continue;
            }
            let begin = at;
            while at < bytes.len() && !bytes[at].is_ascii_whitespace() {
                at += 1;
            }
            self.ranges.push((begin as u32, at as u32));
        }
        Fields { line, ranges: &self.ranges }
    }

    /// The fields of `line` between `separator`s, blanks around each removed.
    pub fn at<'a>(&'a mut self, line: &'a str, separator: u8) -> Fields<'a> {
        self.ranges.clear();
        let mut begin = 0;
        // A byte beyond ASCII is part of a character, and stands between no fields.
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

impl<'a> Fields<'a> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Whether the line was blank.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Field `i`; empty beyond the last.
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
