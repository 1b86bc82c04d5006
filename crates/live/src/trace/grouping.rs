//! Rows added up in groups and shown as a table: the shape of most views. What makes a group, what is added up and what is
//! shown of it are data ([`Grouping`]).

use std::{cmp::Ordering, collections::BTreeMap};

use fenxi_model::{
    Place, RowsOf, Table, Unit,
    place::{I64, Number, Words},
};

use super::observed::more;
use crate::columns;

/// One row of a frame, of the table whose schema is `S`.
pub struct Row<'a, S> {
    rows: RowsOf<'a, S>,
    row: usize,
    /// Length of the frame's interval in seconds.
    pub dt: f64,
}

// Derived, these would ask the same of schemas, which are never values.
impl<S> Clone for Row<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Row<'_, S> {}

impl<'a, S> Row<'a, S> {
    /// A label or text; empty where there is none.
    pub fn text<V: Words>(&self, place: Place<S, V>) -> &'a str {
        self.rows.str(self.row, place).unwrap_or("")
    }

    /// Returns true if there is a label or text.
    pub fn has<V: Words>(&self, place: Place<S, V>) -> bool {
        self.rows.str(self.row, place).is_some()
    }

    /// A number, as it is.
    pub fn number<V: Number>(&self, place: Place<S, V>) -> Option<f64> {
        self.rows.f64(self.row, place)
    }

    /// A number to be added up: what is missing adds nothing.
    pub fn value<V: Number>(&self, place: Place<S, V>) -> f64 {
        self.number(place).unwrap_or(0.0)
    }

    /// An id.
    pub fn id(&self, place: Place<S, I64>) -> Option<i64> {
        self.rows.i64(self.row, place)
    }

    /// An id as text; `missing` where there is none.
    pub fn id_or(&self, place: Place<S, I64>, missing: &str) -> String {
        self.id(place).map_or_else(|| missing.to_owned(), |id| id.to_string())
    }
}

/// Sums of a line, and the totals that they are a part of.
#[derive(Clone, Copy)]
pub struct Sums<'a> {
    own: &'a [f64],
    whole: &'a [f64],
    /// Seconds in which it was added up.
    pub elapsed_s: f64,
}

impl Sums<'_> {
    /// The line's own sum, by its place in [`Grouping::sums`].
    pub fn of(&self, place: usize) -> f64 {
        self.own[place]
    }

    /// Percent of the same sum of all lines, with one decimal; `-` of nothing.
    pub fn share(&self, place: usize) -> String {
        match self.whole[place] {
            whole if whole > 0.0 => format!("{:.1}", 100.0 * self.own[place] / whole),
            _ => "-".to_owned(),
        }
    }

    /// Mean of the sum at `place` over the count at `by`; None for a count of 0.
    pub fn mean(&self, place: usize, by: usize) -> Option<f64> {
        (self.own[by] > 0.0).then(|| self.own[place] / self.own[by])
    }

    /// The same in words; `-` of nothing.
    pub fn mean_in(&self, unit: Unit, place: usize, by: usize) -> String {
        in_unit(unit, self.mean(place, by))
    }

    /// Mean concurrency of a sum of seconds; `-` of no time.
    pub fn at_once(&self, place: usize) -> String {
        if self.elapsed_s > 0.0 { format!("{:.3}", self.own[place] / self.elapsed_s) } else { "-".to_owned() }
    }

    /// Rate per second, with one decimal; `-` of no time.
    pub fn per_s(&self, place: usize) -> String {
        if self.elapsed_s > 0.0 { format!("{:.1}", self.own[place] / self.elapsed_s) } else { "-".to_owned() }
    }
}

/// A value with its unit; `-` where there is none.
pub fn in_unit(unit: Unit, value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| unit.human(value).to_string())
}

/// Aggregation of the values of rows.
pub enum Sum<S> {
    /// Added.
    Added(fn(Row<'_, S>) -> f64),
    /// The maximum of them; of several lines the maximum again.
    Maximum(fn(Row<'_, S>) -> f64),
}

/// A column of the table, in the order in which they are shown.
pub enum Column<S> {
    /// A key that distinguishes lines.
    Key(&'static str, fn(Row<'_, S>) -> String),
    /// The same, of numbers, which stand at the right.
    Number(&'static str, fn(Row<'_, S>) -> String),
    /// A figure of a line.
    Figure(&'static str, fn(&Sums<'_>) -> String),
}

impl<S> Column<S> {
    fn header(&self) -> &'static str {
        let (Column::Key(header, _) | Column::Number(header, _) | Column::Figure(header, _)) = self;
        header
    }

    fn is_key(&self) -> bool {
        !matches!(self, Column::Figure(..))
    }
}

/// Line for the total, with its name, where there is one.
#[derive(Clone, Copy)]
pub enum Total {
    /// There is none.
    None,
    /// Where there are several lines.
    OfSeveral(&'static str),
    /// Always.
    Always(&'static str),
}

/// Grouping, aggregation and columns of a view.
pub struct Grouping<S: 'static> {
    /// The table.
    pub table: &'static Table<S>,
    /// Sums.
    pub sums: &'static [Sum<S>],
    /// Columns. A view may omit some; lines are grouped by the keys that remain.
    pub columns: &'static [Column<S>],
    /// By what lines are sorted, the largest first; equal ones by the next number, then by their keys.
    pub order: fn(&Sums<'_>) -> [f64; 2],
    /// The line of all sums.
    pub total: Total,
    /// Description of the lines that are not shown: `" with less time"`.
    pub less: &'static str,
}

/// The lines of one table, by their keys.
type Lines = BTreeMap<Vec<String>, Vec<f64>>;

/// Rows at work: added up, and shown now and then.
pub struct Groups<S: 'static> {
    of: &'static Grouping<S>,
    /// Which columns are shown.
    shown: Vec<&'static Column<S>>,
    /// How many keys, from the first on, the lines of a block have in common: blocks stay together. 0: there are none.
    block: usize,
    lines: Lines,
}

impl<S> std::fmt::Debug for Groups<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Groups").field("table", &self.of.table.name).field("lines", &self.lines).finish_non_exhaustive()
    }
}

impl<S> Groups<S> {
    /// Shows all columns.
    pub fn new(of: &'static Grouping<S>) -> Groups<S> {
        Groups::without(of, &[])
    }

    /// Leaves out the columns of these headers.
    pub fn without(of: &'static Grouping<S>, left_out: &[&str]) -> Groups<S> {
        let shown = of.columns.iter().filter(|column| !left_out.contains(&column.header())).collect();
        Groups { of, shown, block: 0, lines: Lines::new() }
    }

    /// Keeps lines together that have the first `keys` keys in common, the block first whose numbers of [`Grouping::order`] are
    /// the largest together.
    #[must_use]
    pub fn in_blocks(mut self, keys: usize) -> Groups<S> {
        self.block = keys;
        self
    }

    /// Adds the rows that are wanted.
    pub fn take(&mut self, rows: RowsOf<'_, S>, dt: f64, wanted: impl Fn(Row<'_, S>) -> bool) {
        for row in (0..rows.n_rows()).map(|row| Row { rows, row, dt }).filter(|row| wanted(*row)) {
            let keys = self.shown.iter().filter_map(|column| match column {
                Column::Key(_, of) | Column::Number(_, of) => Some(of(row)),
                Column::Figure(..) => None,
            });
            let sums = self.lines.entry(keys.collect()).or_insert_with(|| vec![0.0; self.of.sums.len()]);
            for (sum, how) in sums.iter_mut().zip(self.of.sums) {
                match how {
                    Sum::Added(of) => *sum += of(row),
                    Sum::Maximum(of) => *sum = sum.max(of(row)),
                }
            }
        }
    }

    /// Returns true if nothing was added.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The sums of all lines.
    pub fn whole(&self) -> Vec<f64> {
        let mut whole = vec![0.0; self.of.sums.len()];
        self.lines.values().for_each(|line| add(self.of.sums, &mut whole, line));
        whole
    }

    /// The lines with their keys, and forgets them.
    pub fn drain(&mut self) -> impl Iterator<Item = (Vec<String>, Vec<f64>)> + use<S> {
        std::mem::take(&mut self.lines).into_iter()
    }

    /// Shows the first `top` lines, as parts of all, and forgets them.
    pub fn show(&mut self, elapsed_s: f64, top: usize, out: &mut String) {
        let whole = self.whole();
        self.show_of(&whole, elapsed_s, top, out);
    }

    /// As [`Groups::show`], as parts of what another one counted.
    pub fn show_of(&mut self, whole: &[f64], elapsed_s: f64, top: usize, out: &mut String) {
        let lines = self.sorted(whole, elapsed_s);
        let cells = |keys: &[String], own: &[f64]| -> Vec<String> {
            let sums = Sums { own, whole, elapsed_s };
            let mut keys = keys.iter();
            let cell = |column: &&Column<S>| match column {
                Column::Figure(_, of) => of(&sums),
                _ => keys.next().cloned().unwrap_or_default(),
            };
            self.shown.iter().map(cell).collect()
        };
        let mut rows: Vec<_> = lines.iter().take(top).map(|(keys, own)| cells(keys, own)).collect();
        let total = match self.of.total {
            Total::Always(name) => Some(name),
            Total::OfSeveral(name) if rows.len() > 1 => Some(name),
            _ => None,
        };
        if let Some(total) = total {
            // Its name is in the last key.
            let n = self.shown.iter().filter(|column| column.is_key()).count();
            let keys: Vec<String> =
                (1..=n).map(|key| if key == n { total.to_owned() } else { String::new() }).collect();
            rows.push(cells(&keys, whole));
        }
        let header: Vec<&str> = self.shown.iter().map(|column| column.header()).collect();
        let at_right = |(_, column): &(usize, &&Column<S>)| !matches!(column, Column::Key(..));
        let right: Vec<usize> = self.shown.iter().enumerate().filter(at_right).map(|(place, _)| place).collect();
        out.push_str(&columns(&header, &right, &rows));
        more(lines.len().saturating_sub(top), self.of.less, "--top", out);
    }

    /// The lines in their order; they are forgotten.
    fn sorted(&mut self, whole: &[f64], elapsed_s: f64) -> Vec<(Vec<String>, Vec<f64>)> {
        let (sums, block) = (self.of.sums, self.block);
        let mut blocks = Lines::new();
        if block > 0 {
            for (keys, line) in &self.lines {
                add(sums, blocks.entry(keys[..block].to_vec()).or_insert_with(|| vec![0.0; sums.len()]), line);
            }
        }
        let order = |own: &[f64]| (self.of.order)(&Sums { own, whole, elapsed_s });
        let mut lines: Vec<_> = std::mem::take(&mut self.lines).into_iter().collect();
        lines.sort_by(|(a_keys, a), (b_keys, b)| {
            let of_block =
                |keys: &[String]| blocks.get(&keys[..block]).map_or(0.0, |sums| order(sums).iter().sum::<f64>());
            let by_block =
                of_block(b_keys).total_cmp(&of_block(a_keys)).then_with(|| a_keys[..block].cmp(&b_keys[..block]));
            let (a_order, b_order) = (order(a), order(b));
            let by_sums = a_order.iter().zip(&b_order).map(|(a, b)| b.total_cmp(a)).find(|order| order.is_ne());
            by_block.then(by_sums.unwrap_or(Ordering::Equal)).then_with(|| a_keys.cmp(b_keys))
        });
        lines
    }
}

fn add<S>(how: &[Sum<S>], to: &mut [f64], more: &[f64]) {
    for ((how, sum), more) in how.iter().zip(to).zip(more) {
        *sum = match how {
            Sum::Added(_) => *sum + more,
            Sum::Maximum(_) => sum.max(*more),
        };
    }
}
