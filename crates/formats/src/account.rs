//! Outcome of each line of a text: the rows that it gives, the rule of a description that reads it, or none.
//!
//! It is for who writes a format. A row belongs to the line at which the format made it: where a format joins what several lines
//! say, that is the last of them.

use fenxi_model::{
    Rows, TABLES, Table, TableRows, Type,
    catalog::{N_COMMON, note},
};
use rustc_hash::FxHashMap;
use serde_json::{Value, json};

pub use crate::line_rule::LineRule;
use crate::{AnyFormat, Hints, Input, Out, OwnFormat, Tally, follow::Follow, overrun, own::shipped};

/// A line of a text, and what became of it.
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// Its number, from 1.
    pub number: u64,
    /// It, without its end.
    pub text: String,
    /// The rule of the description that reads it, where the format is described.
    pub rule: Option<LineRule>,
    /// The rows that it gives, by their places in [`Account::rows`].
    pub rows: Vec<usize>,
    /// Why it, or something in it, could not be read.
    pub notes: Vec<String>,
}

/// A row that was read.
#[derive(Clone, Debug)]
pub struct RowRead {
    /// The line that it came from; 0 where no line had been read.
    pub line: u64,
    /// Its table.
    pub table: &'static Table,
    /// True if it is an average since boot.
    pub since_boot: bool,
    /// The format that read it.
    pub format: &'static str,
    /// Its cells that are not NULL: time, interval and host, then its keys and values.
    pub cells: Cells,
}

impl RowRead {
    /// Its table's name, as answers have it.
    pub fn table_name(&self) -> String {
        format!("{}{}", if self.since_boot { "boot." } else { "" }, self.table.name)
    }

    /// Cells of the row without time, interval and host.
    pub fn says(&self) -> impl Iterator<Item = &(&'static str, Value)> {
        self.cells.iter().filter(|(name, _)| self.table.columns[..N_COMMON].iter().all(|common| common.name != *name))
    }
}

/// Result of reading a text with a format: rows, notes and counts.
#[derive(Debug)]
pub struct Account {
    /// The lines.
    pub lines: Vec<Line>,
    /// The rows, without notes, as they were made.
    pub rows: Vec<RowRead>,
    /// Notes that are about no line: assumptions, and what is wrong with the whole.
    pub remarks: Vec<String>,
    /// As an import would count it.
    pub tally: Tally,
}

impl Account {
    /// Lines with content, and whether each was understood: it gives rows, or a rule of the description reads it.
    pub fn unread(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|line| !line.notes.is_empty())
    }
}

/// Reads `content` by `format`, and reports what becomes of each line.
pub fn account(format: &AnyFormat, content: &[u8], hints: Hints) -> Account {
    let overrun_s = overrun(format, &mut Input::of(content.to_vec()), &hints);
    let follow = Follow::default();
    let mut gathered = Gathered::default();
    let mut input = Input::of(content.to_vec()).followed(&follow);
    let tally = {
        let hints = Hints { overrun_s: Some(overrun_s), ..hints };
        let mut out =
            Out::new(format.name(), hints, |rows, since_boot| gathered.take(rows, since_boot)).followed(&follow);
        format.read(&mut input, &mut out);
        out.finish()
    };
    let mut lines = Vec::new();
    Input::of(content.to_vec()).each_line(|number, text| {
        let rule = rule_of(format, text);
        lines.push(Line { number, text: text.to_owned(), rule, ..Line::default() });
    });
    // Rows of a table come in the order in which they began.
    let mut at: FxHashMap<(usize, bool), usize> = FxHashMap::default();
    let mut rows = Vec::new();
    for origin in follow.take() {
        let key = (origin.table.id as usize, origin.since_boot);
        let next = at.entry(key).or_default();
        let cells = gathered.rows.get_mut(&key).and_then(|rows| rows.get_mut(*next)).map(std::mem::take);
        *next += 1;
        let (line, table, since_boot, format) = (origin.line, origin.table, origin.since_boot, origin.format);
        rows.push(RowRead { line, table, since_boot, format, cells: cells.unwrap_or_default() });
    }
    let place = |lines: &[Line], number: u64| lines.binary_search_by_key(&number, |line| line.number).ok();
    for (row, read) in rows.iter().enumerate() {
        if let Some(line) = place(&lines, read.line) {
            lines[line].rows.push(row);
        }
    }
    let mut remarks = Vec::new();
    for (number, message) in gathered.notes {
        match number.and_then(|number| place(&lines, number)) {
            Some(line) => lines[line].notes.push(message),
            None => remarks.push(message),
        }
    }
    Account { lines, rows, remarks, tally }
}

/// The rule of a description that reads a line; None where the format is not described.
fn rule_of(format: &AnyFormat, line: &str) -> Option<LineRule> {
    match format {
        AnyFormat::Shipped(format) => shipped::named(format.name)?.rule(line),
        AnyFormat::Own(format) => format.rule(line),
        AnyFormat::Hosts(_) => None,
    }
}

/// The cells of a row that are not NULL, by their columns.
pub type Cells = Vec<(&'static str, Value)>;

/// Rows by table, and whether they are since boot; and notes.
#[derive(Default)]
struct Gathered {
    rows: FxHashMap<(usize, bool), Vec<Cells>>,
    notes: Vec<(Option<u64>, String)>,
}

impl Gathered {
    fn take(&mut self, rows: &mut Rows, since_boot: bool) {
        for table in rows.tables() {
            for row in 0..table.n_rows() {
                if table.table().id == note::TABLE.id {
                    let number = table.f64(row, note::line.index()).map(|number| number as u64);
                    self.notes.push((number, table.str(row, note::message.index()).unwrap_or_default().to_owned()));
                    continue;
                }
                let columns = table.table().columns.iter().enumerate();
                let cells = columns.filter_map(|(place, column)| Some((column.name, cell(table, row, place)?)));
                self.rows.entry((table.table().id as usize, since_boot)).or_default().push(cells.collect());
            }
        }
        rows.clear();
    }
}

fn cell(table: &TableRows, row: usize, place: usize) -> Option<Value> {
    Some(match table.table().columns[place].ty {
        Type::Time => json!(table.micros(row, place)?.iso()),
        Type::F64 => json!(table.f64(row, place)?),
        Type::I64 => json!(table.f64(row, place)? as i64),
        Type::Label | Type::Text => json!(table.str(row, place).filter(|text| !text.is_empty())?),
    })
}

/// The tables of a list of rows, each once, in the order of the catalogue.
pub fn tables_of(rows: &[RowRead]) -> Vec<&'static Table> {
    TABLES.iter().copied().filter(|table| rows.iter().any(|row| row.table.id == table.id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format;

    fn of(name: &str, text: &str) -> Account {
        account(&format(name).unwrap().into(), text.as_bytes(), Hints::none("x"))
    }

    #[test]
    fn each_line_has_the_rows_that_it_gave_and_what_could_not_be_read() {
        let text = "Transactions:\t 10 hits\nAvailability:\t 100.00 %\nTransaction rate:\t 5 trans/sec\nnonsense\n";
        let account = of("siege", text);
        let rows: Vec<usize> = account.lines.iter().map(|line| line.rows.len()).collect();
        assert_eq!(rows, [1, 1, 1, 0]);
        assert_eq!(account.rows[0].cells.iter().find(|(name, _)| *name == "value").unwrap().1, json!(10.0));
        assert_eq!(account.lines[0].rule, Some(LineRule::Pair("transactions".to_owned())));
        assert_eq!(account.unread().map(|line| line.number).collect::<Vec<_>>(), [4]);
    }

    #[test]
    fn rows_of_a_part_belong_to_the_lines_of_the_whole() {
        let vmstat = format("vmstat").unwrap().example;
        let hosts: String =
            ["a", "b"].iter().flat_map(|host| vmstat.lines().map(move |line| format!("{host}: {line}\n"))).collect();
        let account = of("by-host", &hosts);
        let n = vmstat.lines().count() as u64;
        assert!(account.rows.iter().all(|row| row.format == "vmstat"), "{:?}", account.rows);
        let last = account.lines.last().unwrap();
        assert!(last.number == 2 * n && !last.rows.is_empty(), "{:?}", account.lines);
    }
}
