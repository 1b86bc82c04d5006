//! Test rows in the header of a finding, on which it must fire (`yes`), as no more than information (`fact`), or stay silent (`no`).
//!
//! `cpu cpu=0 usr=99 idle=1 *30 @10`: a row of the table `cpu` at each of 30 seconds after the tenth. A
//! column that is not named is NULL, `dt` is 1 unless it is given, quotes hold blanks together.
//! Lines of one kind that follow each other are one run; an empty comment begins another.
//! Two words are no tables: `cost source=… cpu_s=…` and `run exit_status=… samples=… missed=…`. `inside` before a table's name means
//! that the rows are those of the period that a finding over two periods looks at.

use fenxi_model::{Micros, Rows, TABLES, Table, Type, near, table};
use fenxi_store::SourceCost;

/// Expected outcome of a finding on the rows of a test case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expected {
    /// To find something.
    #[default]
    Found,
    /// To find something that is information, and no warning.
    Fact,
    /// To find nothing.
    Nothing,
}

/// One run's rows, and what the finding must do with them.
#[derive(Clone, Debug, Default)]
pub struct Case {
    /// Expected outcome.
    pub expected: Expected,
    /// The cost of recording in the case.
    pub costs: Vec<SourceCost>,
    /// Exit status of the run's command.
    pub exit_status: Option<i32>,
    /// Samples taken; None for one a second.
    pub samples: Option<u64>,
    /// Samples missed.
    pub missed: u64,
    /// The period that is looked at, seconds since the begin: where the rows marked `inside` are.
    pub inside: Option<(f64, f64)>,
    lines: Vec<Line>,
}

#[derive(Clone, Debug)]
struct Line {
    table: &'static Table,
    host: Option<String>,
    cells: Vec<(usize, Cell)>,
    dt: f64,
    begin: f64,
    times: u32,
}

#[derive(Clone, Debug)]
enum Cell {
    F64(f64),
    I64(i64),
    Text(String),
}

impl Case {
    /// The tables of its rows, with the columns that are set.
    pub(super) fn columns(&self) -> impl Iterator<Item = (&'static Table, Vec<usize>)> + '_ {
        self.lines.iter().map(|line| (line.table, line.cells.iter().map(|(place, _)| *place).collect()))
    }

    /// Adds its rows to `rows` for a run that began at `start`; gives the run's length in seconds.
    pub fn fill(&self, rows: &mut Rows, start: Micros) -> f64 {
        let host = rows.host().to_owned();
        let mut length = 1.0_f64;
        for line in &self.lines {
            rows.set_host(line.host.as_deref().unwrap_or(&host));
            for i in 1..=line.times {
                let seconds = line.begin + f64::from(i) * line.dt;
                length = length.max(seconds);
                let mut row = rows.row(line.table, Micros(start.0 + (seconds * 1e6) as i64), line.dt);
                for (place, cell) in &line.cells {
                    match cell {
                        Cell::F64(v) => row.f64(*place, *v),
                        Cell::I64(v) => row.i64(*place, *v),
                        Cell::Text(v) => row.str(*place, v.as_str()),
                    };
                }
            }
        }
        rows.set_host(&host);
        length
    }
}

impl Case {
    /// Reads the properties of the run itself.
    fn run(&mut self, values: &[String]) -> Result<(), String> {
        for word in values {
            let unknown = || format!("run: `{word}` is not exit_status=…, samples=… or missed=… with a number");
            let (key, value) = word.split_once('=').ok_or_else(unknown)?;
            match key {
                "exit_status" => self.exit_status = Some(value.parse().map_err(|_| unknown())?),
                "samples" => self.samples = Some(value.parse().map_err(|_| unknown())?),
                "missed" => self.missed = value.parse().map_err(|_| unknown())?,
                _ => return Err(unknown()),
            }
        }
        Ok(())
    }
}

/// Cases while a header is read.
#[derive(Default)]
pub(super) struct Cases {
    pub(super) all: Vec<Case>,
    /// Whether the last one takes further lines.
    open: bool,
}

impl Cases {
    /// The next line of rows belongs to a new case.
    pub(super) fn end(&mut self) {
        self.open = false;
    }

    /// Adds a line of rows; what is wrong as a message.
    pub(super) fn line(&mut self, expected: Expected, text: &str) -> Result<(), String> {
        if !self.open || self.all.last().is_none_or(|case| case.expected != expected) {
            self.all.push(Case { expected, ..Case::default() });
        }
        self.open = true;
        let words = words(text);
        let (name, values) = words.split_first().ok_or("there is no table")?;
        let Some(case) = self.all.last_mut() else { return Ok(()) };
        match name.as_str() {
            "cost" => case.costs.push(cost(values)?),
            "run" => case.run(values)?,
            "inside" => {
                let (name, values) = values.split_first().ok_or("inside: there is no table")?;
                let of = line(name, values)?;
                let (from, to) = (of.begin, of.begin + f64::from(of.times) * of.dt);
                let known = case.inside.unwrap_or((from, to));
                case.inside = Some((known.0.min(from), known.1.max(to)));
                case.lines.push(of);
            }
            name => case.lines.push(line(name, values)?),
        }
        Ok(())
    }
}

/// Words at blanks; double quotes hold words together.
fn words(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let (mut word, mut quoted, mut begun) = (String::new(), false, false);
    for c in text.chars() {
        match c {
            '"' => (quoted, begun) = (!quoted, true),
            ' ' if !quoted => {
                if std::mem::take(&mut begun) {
                    out.push(std::mem::take(&mut word));
                }
            }
            c => {
                word.push(c);
                begun = true;
            }
        }
    }
    if begun {
        out.push(word);
    }
    out
}

fn line(name: &str, values: &[String]) -> Result<Line, String> {
    let table = table(name).ok_or_else(|| {
        let near = near(name, TABLES.iter().map(|t| t.name));
        format!("there is no table `{name}`{}", hint(&near))
    })?;
    let mut line = Line { table, host: None, cells: Vec::new(), dt: 1.0, begin: 0.0, times: 1 };
    for word in values {
        if let Some(times) = word.strip_prefix('*') {
            line.times = times.parse().map_err(|_| format!("`{word}` is not a number of rows"))?;
        } else if let Some(begin) = word.strip_prefix('@') {
            line.begin = begin.parse().map_err(|_| format!("`{word}` is not a number of seconds"))?;
        } else {
            let (key, value) =
                word.split_once('=').ok_or_else(|| format!("`{word}` is not COLUMN=VALUE, *ROWS or @SECONDS"))?;
            match key {
                "host" => line.host = Some(value.to_owned()),
                "dt" => line.dt = value.parse().map_err(|_| format!("dt: `{value}` is not a number"))?,
                key => line.cells.push(cell(table, key, value)?),
            }
        }
    }
    Ok(line)
}

fn cell(table: &'static Table, key: &str, value: &str) -> Result<(usize, Cell), String> {
    let place = table.index_of(key).ok_or_else(|| {
        let near = near(key, table.columns.iter().map(|c| c.name));
        format!("table {} has no column `{key}`{}", table.name, hint(&near))
    })?;
    let cell = match table.columns[place].ty {
        Type::F64 => value.parse().ok().map(Cell::F64),
        Type::I64 => value.parse().ok().map(Cell::I64),
        Type::Label | Type::Text => Some(Cell::Text(value.to_owned())),
        Type::Time => None,
    };
    cell.map(|cell| (place, cell)).ok_or_else(|| format!("{key}: `{value}` is not a {}", table.columns[place].ty))
}

fn hint(near: &[String]) -> String {
    near.first().map(|n| format!("; did you mean `{n}`?")).unwrap_or_default()
}

fn cost(values: &[String]) -> Result<SourceCost, String> {
    let mut cost = SourceCost::default();
    for word in values {
        let number = || word.split_once('=').and_then(|(_, v)| v.parse::<f64>().ok());
        match word.split_once('=') {
            Some(("source", name)) => name.clone_into(&mut cost.source),
            Some(("samples", _)) => cost.samples = number().ok_or("cost: samples is a number")? as u64,
            Some(("cpu_s", _)) => cost.cpu_s = number().ok_or("cost: cpu_s is a number")?,
            _ => return Err(format!("cost: `{word}` is not source=…, samples=… or cpu_s=…")),
        }
    }
    Ok(cost)
}

#[cfg(test)]
mod tests {
    use super::{
        Cases,
        Expected::{Fact, Found, Nothing},
        words,
    };

    #[test]
    fn quotes_hold_blanks_together() {
        assert_eq!(words(r#"text  name="clock source" value="" *2"#), ["text", "name=clock source", "value=", "*2"]);
    }

    #[test]
    fn lines_of_one_kind_are_one_case_until_the_kind_changes_or_a_comment_is_empty() {
        let mut cases = Cases::default();
        for (expected, text) in
            [(Found, "cpu usr=1"), (Found, "mem free_bytes=1"), (Fact, "cpu usr=9"), (Nothing, "cpu usr=0 *3")]
        {
            cases.line(expected, text).unwrap();
        }
        cases.end();
        cases.line(Nothing, "cost source=cpu cpu_s=3").unwrap();
        assert_eq!(cases.all.iter().map(|c| c.expected).collect::<Vec<_>>(), [Found, Fact, Nothing, Nothing]);
        assert_eq!(cases.all[0].lines.len(), 2);
    }

    #[test]
    fn a_wrong_line_says_what_was_meant() {
        let error = |text: &str| Cases::default().line(Found, text).unwrap_err();
        assert_eq!(error("proces pid=1"), "there is no table `proces`; did you mean `process`?");
        assert_eq!(error("cpu uzr=1"), "table cpu has no column `uzr`; did you mean `usr`?");
        assert!(error("cpu usr=much").starts_with("usr: `much` is not a "));
        assert!(error("run status=1").contains("exit_status"));
    }
}
