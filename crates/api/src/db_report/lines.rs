//! Lines of a section, from the answers of one period or two.

use fenxi_model::Unit;
use fenxi_query::Answer;
use rustc_hash::FxHashMap;

use super::{Cell, Column, Line, sections::Spec};

/// Maximum number of lines.
pub const MOST: u32 = 5_000;

/// The heading of the column behind the first one of two periods.
const DIFFERENCE: &str = "difference";

/// Names of columns that hold a unit for each line.
const UNIT: &str = "unit";

/// Input of a section: periods and filters.
pub struct Lines<'a> {
    /// The section.
    pub spec: &'a Spec,
    /// The server whose lines are taken.
    pub server: &'a str,
    /// Labels of the periods.
    pub labels: &'a [&'a str],
}

/// A line of one period.
struct Row {
    keys: Vec<String>,
    text: Option<String>,
    cells: Vec<Cell>,
}

impl Lines<'_> {
    /// Columns, lines and how many were left out; None where there are none.
    pub fn of(&self, answers: &[Answer]) -> Option<(Vec<Column>, Vec<Line>, usize)> {
        let mut lines: Vec<Line> = Vec::new();
        let mut places: FxHashMap<Vec<String>, usize> = FxHashMap::default();
        let measures = self.spec.measures.len();
        for (period, answer) in answers.iter().enumerate() {
            let mut seen: FxHashMap<usize, Vec<Vec<Cell>>> = FxHashMap::default();
            for row in self.rows(answer) {
                let place = *places.entry(row.keys.clone()).or_insert_with(|| {
                    let cells = vec![vec![Cell::default(); answers.len()]; measures];
                    lines.push(Line { keys: row.keys, text: row.text, only_in: None, cells });
                    lines.len() - 1
                });
                seen.entry(place).or_default().push(row.cells);
            }
            // A group of runs has a line of each.
            for (place, of_runs) in seen {
                for (measure, cells) in lines[place].cells.iter_mut().enumerate() {
                    cells[period] = mean(of_runs.iter().map(|cells| &cells[measure]));
                }
            }
        }
        if answers.len() > 1 {
            lines.iter_mut().for_each(|line| line.only_in = self.only_in(line));
            if self.spec.differs_only {
                lines.retain(|line| line.cells.iter().any(|cells| cells.windows(2).any(|w| w[0].shown != w[1].shown)));
            }
            if !self.spec.is_list {
                lines.sort_by(|a, b| difference(b).total_cmp(&difference(a)));
            }
        }
        let more = lines.len().saturating_sub(self.spec.lines);
        lines.truncate(self.spec.lines);
        let has = |place: &usize| lines.iter().any(|line| line.cells[*place].iter().any(|cell| cell.shown != "-"));
        let kept: Vec<usize> = (0..measures).filter(has).collect();
        if kept.is_empty() {
            return None;
        }
        for line in &mut lines {
            line.cells = kept.iter().map(|place| std::mem::take(&mut line.cells[*place])).collect();
        }
        let column = |place: usize| {
            let measure = &self.spec.measures[place];
            Column { name: measure.column.to_owned(), heading: measure.heading.to_owned(), is_of_all: false }
        };
        let mut columns: Vec<Column> = kept.into_iter().map(column).collect();
        if lines.iter().any(|line| change(line).is_some()) {
            columns.insert(1, Column { name: DIFFERENCE.to_owned(), heading: DIFFERENCE.to_owned(), is_of_all: true });
            for line in &mut lines {
                let change = change(line).unwrap_or_default();
                line.cells.insert(1, vec![change]);
            }
        }
        Some((columns, lines, more))
    }

    /// The only period in which a line has something.
    fn only_in(&self, line: &Line) -> Option<String> {
        let has = |period: usize| line.cells.iter().any(|cells| cells[period].shown != "-");
        let there: Vec<_> = (0..self.labels.len()).filter(|period| has(*period)).collect();
        match there[..] {
            [period] => Some(self.labels[period].to_owned()),
            _ => None,
        }
    }

    /// Lines of an answer that are of the server.
    fn rows(&self, answer: &Answer) -> Vec<Row> {
        let servers = answer.strings("server");
        let texts = self.spec.text.map(|text| answer.strings(text)).unwrap_or_default();
        let keys: Vec<_> = self.spec.keys.iter().map(|key| answer.strings(key.column)).collect();
        let columns: Vec<_> = self.spec.measures.iter().map(|measure| self.column(answer, measure.column)).collect();
        let is_ours = |row: &usize| servers.get(*row).is_none_or(|of| of.as_deref().is_none_or(|of| of == self.server));
        let row = |row: usize| Row {
            keys: keys.iter().map(|key| key.get(row).cloned().flatten().unwrap_or_default()).collect(),
            text: texts.get(row).cloned().flatten(),
            cells: columns.iter().map(|column| column.get(row).cloned().unwrap_or_default()).collect(),
        };
        (0..answer.n_rows()).filter(is_ours).map(row).collect()
    }

    /// A column of an answer as cells. Numbers without a unit have that of their line.
    fn column(&self, answer: &Answer, name: &str) -> Vec<Cell> {
        let Some(place) = answer.index_of(name) else { return vec![Cell::text(None); answer.n_rows()] };
        let column = &answer.columns[place];
        if !column.ty.is_numeric() {
            return answer.strings(name).into_iter().map(Cell::text).collect();
        }
        let units = if answer.index_of(UNIT).is_some() { answer.strings(UNIT) } else { Vec::new() };
        let unit = |row: usize| match units.get(row).and_then(Option::as_deref) {
            Some(symbol) if column.unit == Unit::None => Unit::from_symbol(symbol),
            _ => column.unit,
        };
        answer.f64s(name).into_iter().enumerate().map(|(row, value)| Cell::number(value, unit(row))).collect()
    }
}

/// The mean of numbers, and of texts the one that all have.
fn mean<'a>(cells: impl Iterator<Item = &'a Cell> + Clone) -> Cell {
    let mut known = cells.clone().filter_map(|cell| cell.value);
    let Some(first) = cells.clone().next() else { return Cell::default() };
    match known.next() {
        None if cells.clone().any(|cell| cell.shown != first.shown) => Cell::text(Some("differs".to_owned())),
        None => first.clone(),
        Some(value) => {
            let (sum, n) = known.fold((value, 1.0), |(sum, n), more| (sum + more, n + 1.0));
            let unit = cells.clone().find(|cell| cell.value.is_some()).map_or("", |cell| cell.unit);
            Cell::number(Some(sum / n), Unit::from_symbol(unit))
        }
    }
}

/// Second of two periods minus the first, by the line's first column; None where one of them is unknown.
fn change(line: &Line) -> Option<Cell> {
    let [a, b] = line.cells.first()?.as_slice() else { return None };
    let difference = b.value? - a.value?;
    let size = Cell::number(Some(difference.abs()), Unit::from_symbol(b.unit)).shown;
    let sign = if difference < 0.0 { "-" } else { "+" };
    Some(Cell { value: Some(difference), unit: b.unit, shown: format!("{sign}{size}") })
}

/// How far the periods of a line are apart, by its first column.
fn difference(line: &Line) -> f64 {
    let Some([a, b]) = line.cells.first().map(Vec::as_slice) else { return 0.0 };
    (b.value.unwrap_or(0.0) - a.value.unwrap_or(0.0)).abs()
}
