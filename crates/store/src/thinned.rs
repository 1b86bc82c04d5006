//! Thinning: one row for several of a series, and apart from it their minimum and maximum.
//!
//! Means are weighed by the rows' intervals, so that a sum over time stays what it was. What adds up is added up. A
//! percentile of several rows cannot be had from those of each: it is missing, and its minimum and maximum are not.

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use fenxi_model::{
    Kind, Micros, Rows, Shape, Statistic, Table, Type,
    catalog::{DT, HOST, N_COMMON, T},
};

use crate::{StoreError, sort_buffer::SortBuffer, table_seal::places};

/// The prefix of the tables of minima: `lowest.cpu`.
pub const LOWEST: &str = "lowest";
/// The prefix of the tables of maxima: `highest.cpu`.
pub const HIGHEST: &str = "highest";

/// Rows that are gathered before some are thinned.
const ROWS: usize = 1 << 16;

/// How the values of a column become one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Rule {
    Mean,
    Sum,
    Min,
    Max,
    Missing,
    /// Values that are no numbers: the last one.
    Last,
}

/// Thins the rows of one table, which arrive sorted by series and time.
pub(crate) struct Thinner {
    table: &'static Table,
    step_us: i64,
    gather: SortBuffer,
    rules: Vec<(usize, Rule)>,
}

/// Rows that were made of several, all of the same series and moments.
pub(crate) struct Thinned {
    pub(crate) means: RecordBatch,
    pub(crate) lowest: Option<RecordBatch>,
    pub(crate) highest: Option<RecordBatch>,
}

/// Columns of one row that is being made.
#[derive(Clone, Copy)]
struct Folded {
    value: f64,
    min: f64,
    max: f64,
}

impl Thinner {
    pub(crate) fn new(table: &'static Table, step_s: f64) -> Thinner {
        let rules = (N_COMMON + table.n_keys..table.columns.len()).map(|place| (place, rule(table, place)));
        Thinner {
            table,
            step_us: ((step_s * 1e6) as i64).max(1),
            gather: SortBuffer::new(table),
            rules: rules.collect(),
        }
    }

    pub(crate) fn push(&mut self, batch: &RecordBatch) -> Result<(), StoreError> {
        if self.gather.push(batch) {
            return Ok(());
        }
        Err(StoreError::damaged(self.table.name, "rows with columns that this fenxi does not know"))
    }

    /// Thinned rows; the last rows wait for further ones of their step, unless it is the `end`. None: nothing yet.
    pub(crate) fn take(&mut self, end: bool) -> Result<Option<Thinned>, StoreError> {
        if self.gather.len() == 0 || !end && self.gather.len() < ROWS {
            return Ok(None);
        }
        let gather = &mut self.gather;
        let order = gather.order();
        let mut groups: Vec<std::ops::Range<usize>> = Vec::new();
        let (mut times, mut dts) = (Vec::new(), Vec::new());
        for series in &order.groups {
            let rows = &order.order[series.clone()];
            gather.integers(T, rows, &mut times);
            if !gather.numbers(DT, rows, &mut dts) {
                dts = vec![f64::NAN; rows.len()];
            }
            // The middle of an interval decides to which step it belongs.
            let step = |i: usize| match times[i] {
                Some(t) => {
                    let half = if dts[i].is_nan() { 0 } else { (dts[i] * 5e5) as i64 };
                    (t - half).div_euclid(self.step_us)
                }
                None => i64::MIN,
            };
            let mut begin = 0;
            for i in 1..=rows.len() {
                if i == rows.len() || step(i) != step(begin) {
                    groups.push(series.start + begin..series.start + i);
                    begin = i;
                }
            }
        }
        let rest = if end { None } else { groups.pop() };
        let made = self.fold(&order.order, &groups).map_err(|source| self.error(source))?;
        let columns = places(&self.gather.in_use());
        let rest = rest.map(|rows| self.gather.batch(&order.order[rows], &columns)).transpose();
        let rest = rest.map_err(|source| self.error(source))?;
        self.gather = SortBuffer::new(self.table);
        rest.map_or(Ok(()), |batch| self.push(&batch))?;
        Ok(made)
    }

    fn error(&self, source: ArrowError) -> StoreError {
        StoreError::Arrow { path: self.table.name.into(), source }
    }

    fn fold(&self, order: &[u32], groups: &[std::ops::Range<usize>]) -> Result<Option<Thinned>, ArrowError> {
        let gather = &self.gather;
        let (mut means, mut lowest, mut highest) = (Rows::new(""), Rows::new(""), Rows::new(""));
        // A distribution has no minimum or maximum: its parts add up.
        let has_ends = self.table.shape == Shape::Series;
        let (mut times, mut dts, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for group in groups {
            let rows = &order[group.clone()];
            gather.integers(T, rows, &mut times);
            let known = gather.numbers(DT, rows, &mut dts);
            let dts = if known { dts.as_slice() } else { &[] };
            let length = dts.iter().filter(|dt| !dt.is_nan()).sum::<f64>();
            let dt = (length > 0.0).then_some(length);
            let t = times.iter().copied().flatten().max().map(Micros);
            let last = rows[rows.len() - 1];
            let host = gather.text(last, HOST).unwrap_or_default();
            let mut made = vec![&mut means];
            if has_ends {
                made.extend([&mut lowest, &mut highest]);
            }
            for (i, into) in made.into_iter().enumerate() {
                into.set_host(&host);
                let mut row = into.row(self.table, t, dt);
                for place in N_COMMON..N_COMMON + self.table.n_keys {
                    copy(gather, last, place, &mut row);
                }
                for (place, rule) in &self.rules {
                    if *rule == Rule::Last {
                        let with = rows.iter().rev().find(|row| gather.has(**row, *place));
                        if let (Some(with), 0) = (with, i) {
                            copy(gather, *with, *place, &mut row);
                        }
                        continue;
                    }
                    if !gather.numbers(*place, rows, &mut values) {
                        continue;
                    }
                    let Some(folded) = folded(&values, dts, *rule) else { continue };
                    let value = [folded.value, folded.min, folded.max][i];
                    match self.table.columns[*place].ty {
                        _ if value.is_nan() => {}
                        Type::I64 => {
                            row.i64(*place, value.round() as i64);
                        }
                        _ => {
                            row.f64(*place, value);
                        }
                    }
                }
            }
        }
        let take = |rows: &mut Rows| rows.tables_mut().next().and_then(fenxi_model::TableRows::take);
        let Some(means) = take(&mut means) else { return Ok(None) };
        Ok(Some(Thinned { means, lowest: take(&mut lowest), highest: take(&mut highest) }))
    }
}

fn rule(table: &Table, place: usize) -> Rule {
    let column = &table.columns[place];
    if !column.is_value() {
        return Rule::Last;
    }
    match column.statistic {
        _ if column.kind == Kind::Count => Rule::Sum,
        Statistic::Mean => Rule::Mean,
        Statistic::Minimum => Rule::Min,
        Statistic::Maximum => Rule::Max,
        Statistic::Percentile => Rule::Missing,
    }
}

/// One value for several, NaN where it is missing; None when all are.
fn folded(values: &[f64], dts: &[f64], rule: Rule) -> Option<Folded> {
    let (mut sum, mut weighed, mut weight) = (0.0, 0.0, 0.0);
    let (mut n, mut lowest, mut highest) = (0_u32, f64::INFINITY, f64::NEG_INFINITY);
    for (i, value) in values.iter().enumerate().filter(|(_, value)| !value.is_nan()) {
        let dt = dts.get(i).copied().filter(|dt| *dt > 0.0).unwrap_or(0.0);
        n += 1;
        sum += value;
        weighed += value * dt;
        weight += dt;
        (lowest, highest) = (lowest.min(*value), highest.max(*value));
    }
    if n == 0 {
        return None;
    }
    let value = match rule {
        Rule::Mean if weight > 0.0 => weighed / weight,
        Rule::Mean => sum / f64::from(n),
        Rule::Sum => sum,
        Rule::Min => lowest,
        Rule::Max => highest,
        Rule::Missing | Rule::Last => f64::NAN,
    };
    Some(Folded { value, min: lowest, max: highest })
}

/// Copies the value in one column of a row.
fn copy(gather: &SortBuffer, from: u32, place: usize, into: &mut fenxi_model::Row<'_>) {
    match gather.table.columns[place].ty {
        Type::F64 => {
            into.f64(place, gather.number(from, place));
        }
        Type::I64 => {
            into.i64(place, gather.integer(from, place));
        }
        Type::Time => {
            into.time(place, gather.integer(from, place).map(Micros));
        }
        Type::Label | Type::Text => {
            into.str(place, gather.text(from, place).as_deref());
        }
    }
}
