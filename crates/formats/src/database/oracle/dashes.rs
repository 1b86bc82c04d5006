//! Tables of Oracle's reports: columns as wide as the dashes under their names, names over several
//! lines, cells left empty.

/// The columns of a table.
#[derive(Debug, Default)]
pub(super) struct Columns {
    /// Where each begins and ends, in bytes.
    spans: Vec<(usize, usize)>,
    names: Vec<String>,
}

/// Whether a line only draws columns: groups of dashes, the first perhaps of tildes.
pub(super) fn is_rule(line: &str) -> bool {
    line.len() >= 3 && line.contains("--") && line.bytes().all(|b| matches!(b, b'-' | b'~' | b' '))
}

impl Columns {
    /// The columns that `rule` draws, called as the lines above it say.
    pub(super) fn new(rule: &str, above: &[String]) -> Columns {
        let mut spans = Vec::new();
        let mut at = 0;
        for group in rule.split(' ') {
            if !group.is_empty() {
                spans.push((at, at + group.len()));
            }
            at += group.len() + 1;
        }
        let mut columns = Columns { spans, names: Vec::new() };
        for column in 0..columns.spans.len() {
            let mut name = String::new();
            for line in above {
                for word in columns.slice(line, column).split_ascii_whitespace() {
                    if !name.is_empty() {
                        name.push(' ');
                    }
                    name.push_str(word);
                }
            }
            columns.names.push(name);
        }
        columns
    }

    pub(super) fn len(&self) -> usize {
        self.spans.len()
    }

    /// The first column whose name satisfies `test`.
    pub(super) fn find(&self, test: impl Fn(&str) -> bool) -> Option<usize> {
        self.names.iter().position(|name| test(name))
    }

    pub(super) fn name(&self, column: usize) -> &str {
        self.names.get(column).map_or("", String::as_str)
    }

    /// The cell of `line`; numbers may reach into the gap before their column.
    pub(super) fn cell<'a>(&self, line: &'a str, column: usize) -> &'a str {
        self.slice(line, column).trim()
    }

    /// Whether a word of `line` lies across the end of a column: the line is not set as the rule has it.
    pub(super) fn cut_a_word(&self, line: &str) -> bool {
        let is_word = |at: usize| line.as_bytes().get(at).is_some_and(|byte| !byte.is_ascii_whitespace());
        self.spans.iter().rev().skip(1).any(|(_, end)| end.checked_sub(1).is_some_and(is_word) && is_word(*end))
    }

    fn slice<'a>(&self, line: &'a str, column: usize) -> &'a str {
        let Some((begin, end)) = self.spans.get(column) else { return "" };
        let before = column.checked_sub(1).and_then(|c| self.spans.get(c)).map_or(0, |(_, end)| *end);
        let begin = if column == 0 { 0 } else { before.min(*begin) };
        let last = column + 1 == self.spans.len();
        let end = if last { line.len() } else { (*end).min(line.len()) };
        line.get(begin.min(end)..end).unwrap_or("")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_cut_at_their_dashes() {
        let above = ["          Avg".to_owned(), "Event     wait (ms) Class".to_owned()];
        let columns = Columns::new("--------- --------- -----", &above);
        assert_eq!((columns.len(), columns.name(0), columns.name(1)), (3, "Event", "Avg wait (ms)"));
        assert_eq!(columns.cell("log file      1,234 User I/O", 1), "1,234");
        assert_eq!(columns.cell("log file      1,234 User I/O", 2), "User I/O");
        assert_eq!(columns.cell("CPU", 1), "");
        assert!(
            !columns.cut_a_word("log file      1,234 User I/O") && !columns.cut_a_word("log file 12,345,678 User I/O")
        );
        assert!(columns.cut_a_word("log file         1,234 User I/O") && !columns.cut_a_word("CPU"));
    }
}
