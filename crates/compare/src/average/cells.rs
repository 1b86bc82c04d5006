//! Average of one table: a cell per host, key and interval, accumulated run by run.

use arrow_array::{
    Array, ArrayRef, RecordBatch,
    cast::AsArray,
    types::{Float64Type, Int32Type, Int64Type, TimestampMicrosecondType},
};
use fenxi_model::{
    Micros, Rows, Shape, Table, Type,
    catalog::{HOST, N_COMMON},
};
use rustc_hash::FxHashMap;

use super::rule::{Rule, rule};

/// A key of a row; labels as codes of [`Cells::labels`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    Null,
    Label(u32),
    Number(i64),
}

/// Where a cell is: in which interval after the begin, None for rows without a time.
type Place = (Box<[Key]>, Option<i64>);

/// Which rows of a run count, and how its times and hosts are read.
#[derive(Clone, Debug)]
pub struct View<'a> {
    /// The moment that is the begin in all runs.
    pub start: Micros,
    /// Rows after this moment are left out.
    pub end: Micros,
    /// The host that stands for the run's, where every run has but one.
    pub host: Option<&'a str>,
}

/// The table being averaged.
#[derive(Debug)]
pub struct Cells {
    table: &'static Table,
    /// Microseconds of an interval.
    step: i64,
    /// Places of the host and the keys by which rows are told apart.
    keys: Vec<usize>,
    /// Places of the keys that name things of one run only: they tell apart the series that add up to a cell.
    passing: Vec<usize>,
    /// Columns of numbers and how each becomes one.
    values: Vec<(usize, Rule)>,
    /// Labels that are no keys: they are what they are in the first run that has the cell.
    others: Vec<usize>,
    of_others: Vec<Key>,
    labels: Vec<Box<str>>,
    codes: FxHashMap<Box<str>, u32>,
    known: FxHashMap<Place, usize>,
    places: Vec<Place>,
    /// Of each cell and column, over the runs so far.
    over: Vec<Moments>,
    /// Of each cell and column, the value of this run: NaN where it has none.
    now: Vec<f64>,
    /// Rows had no interval in them.
    instants: bool,
    runs: usize,
}

/// Mean and squares of a few values by Welford's method, and their ends.
#[derive(Clone, Copy, Debug)]
struct Moments {
    n: u32,
    mean: f64,
    squares: f64,
    min: f64,
    max: f64,
}

const NOTHING: Moments = Moments { n: 0, mean: 0.0, squares: 0.0, min: f64::INFINITY, max: f64::NEG_INFINITY };

impl Moments {
    fn add(&mut self, value: f64) {
        self.n += 1;
        let off = value - self.mean;
        self.mean += off / f64::from(self.n);
        self.squares += off * (value - self.mean);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }
}

/// Numbers of one column of a batch, NaN where NULL.
enum Numbers<'a> {
    Floats(&'a arrow_array::Float64Array),
    Integers(&'a arrow_array::Int64Array),
    Absent,
}

impl<'a> Numbers<'a> {
    fn of(array: Option<&'a ArrayRef>) -> Numbers<'a> {
        let floats = array.and_then(|a| a.as_primitive_opt::<Float64Type>()).map(Numbers::Floats);
        let integers = || array.and_then(|a| a.as_primitive_opt::<Int64Type>()).map(Numbers::Integers);
        floats.or_else(integers).unwrap_or(Numbers::Absent)
    }

    fn at(&self, row: usize) -> f64 {
        match self {
            Numbers::Floats(values) if values.is_valid(row) => values.value(row),
            Numbers::Integers(values) if values.is_valid(row) => values.value(row) as f64,
            _ => f64::NAN,
        }
    }
}

/// One column of keys or labels of a batch, and what its labels' codes are to the whole average.
struct Labels {
    array: Option<ArrayRef>,
    ty: Type,
    memo: FxHashMap<i32, Key>,
}

impl Labels {
    fn of(array: Option<ArrayRef>, ty: Type) -> Labels {
        Labels { array, ty, memo: FxHashMap::default() }
    }
}

/// One series' mean over one interval, being made: weighed by the rows' own intervals.
#[derive(Debug, Default)]
struct Local {
    at: Option<usize>,
    /// Its passing keys.
    series: Box<[Key]>,
    sums: Vec<f64>,
    weights: Vec<f64>,
}

impl Cells {
    /// An empty average of `table` with intervals of `step` seconds.
    pub fn new(table: &'static Table, step: f64) -> Cells {
        // Another run has other names of these: their rows are added up.
        let (passing, keys) = (HOST..N_COMMON + table.n_keys).partition(|place| table.columns[*place].is_of_one_run);
        let numbers = (0..table.columns.len()).filter(|p| table.columns[*p].is_value());
        Cells {
            table,
            step: ((step * 1e6) as i64).max(1),
            keys,
            passing,
            values: numbers.map(|p| (p, rule(table, &table.columns[p]))).collect(),
            others: (N_COMMON + table.n_keys..table.columns.len())
                .filter(|p| table.columns[*p].ty == Type::Label)
                .collect(),
            of_others: Vec::new(),
            labels: Vec::new(),
            codes: FxHashMap::default(),
            known: FxHashMap::default(),
            places: Vec::new(),
            over: Vec::new(),
            now: Vec::new(),
            instants: false,
            runs: 0,
        }
    }

    /// Adds the rows of one run, which come by host, keys and time.
    pub fn add(&mut self, batches: &[RecordBatch], view: &View<'_>) {
        let mut local = Local::default();
        for batch in batches {
            self.add_batch(batch, view, &mut local);
        }
        self.flush(&mut local);
        self.runs += 1;
        for (over, now) in self.over.iter_mut().zip(&mut self.now) {
            if !now.is_nan() {
                over.add(*now);
                *now = f64::NAN;
            }
        }
    }

    fn add_batch(&mut self, batch: &RecordBatch, view: &View<'_>, local: &mut Local) {
        let column = |place: usize| batch.column_by_name(self.table.columns[place].name);
        let times = batch.column_by_name("t").and_then(|c| c.as_primitive_opt::<TimestampMicrosecondType>());
        let lengths = Numbers::of(batch.column_by_name("dt"));
        let numbers: Vec<Numbers<'_>> = self.values.iter().map(|(place, _)| Numbers::of(column(*place))).collect();
        let labels = |places: &[usize]| -> Vec<Labels> {
            places.iter().map(|p| Labels::of(column(*p).cloned(), self.table.columns[*p].ty)).collect()
        };
        let (mut keys, mut passing, mut others) = (labels(&self.keys), labels(&self.passing), labels(&self.others));
        let stride = self.values.len();
        for row in 0..batch.num_rows() {
            let time = times.filter(|t| t.is_valid(row)).map(|t| t.value(row));
            if time.is_some_and(|t| t <= view.start.0 || t > view.end.0 + self.step / 2) {
                continue;
            }
            let dt = lengths.at(row);
            self.instants |= dt.is_nan();
            // A row that ends in the middle between two ends belongs to the later one.
            let bin = time.map(|t| (t - view.start.0 + self.step / 2) / self.step);
            let key: Box<[Key]> = (0..keys.len())
                .map(|i| match (self.keys[i], view.host) {
                    (HOST, Some(host)) => Key::Label(self.code(host)),
                    _ => self.key(&mut keys[i], row),
                })
                .collect();
            let series: Box<[Key]> = passing.iter_mut().map(|labels| self.key(labels, row)).collect();
            let at = self.cell((key, bin));
            if at * others.len() == self.of_others.len() {
                for other in &mut others {
                    let label = self.key(other, row);
                    self.of_others.push(label);
                }
            }
            if local.at != Some(at) || local.series != series {
                self.flush(local);
                *local = Local { at: Some(at), series, sums: vec![0.0; stride], weights: vec![0.0; stride] };
            }
            for (c, numbers) in numbers.iter().enumerate() {
                let value = numbers.at(row);
                if !value.is_nan() {
                    let adds_up = self.adds_up(c);
                    let weight = if dt > 0.0 && !adds_up { dt } else { 1.0 };
                    local.sums[c] += value * weight;
                    local.weights[c] += weight;
                }
            }
        }
    }

    /// Whether values of one interval are added: numbers of events, and parts of a distribution.
    fn adds_up(&self, c: usize) -> bool {
        let (place, rule) = self.values[c];
        rule == Rule::Sum || self.table.columns[place].kind == fenxi_model::Kind::Count
    }

    /// Adds what one series gave in one interval to the run's value of its cell.
    fn flush(&mut self, local: &mut Local) {
        let Some(at) = local.at.take() else { return };
        let stride = self.values.len();
        for c in 0..stride {
            if local.weights[c] > 0.0 {
                let value = if self.adds_up(c) { local.sums[c] } else { local.sums[c] / local.weights[c] };
                let now = &mut self.now[at * stride + c];
                // Several series of one cell differ in passing keys only: together they are the cell.
                *now = if now.is_nan() { value } else { *now + value };
            }
        }
    }

    fn code(&mut self, label: &str) -> u32 {
        if let Some(code) = self.codes.get(label) {
            return *code;
        }
        let code = self.labels.len() as u32;
        self.labels.push(label.into());
        self.codes.insert(label.into(), code);
        code
    }

    fn key(&mut self, Labels { array, ty, memo }: &mut Labels, row: usize) -> Key {
        let Some(array) = array.as_ref().filter(|a| a.is_valid(row)) else { return Key::Null };
        match ty {
            Type::Label => {
                let Some(labels) = array.as_dictionary_opt::<Int32Type>() else { return Key::Null };
                let of_batch = labels.keys().value(row);
                if let Some(key) = memo.get(&of_batch) {
                    return *key;
                }
                let text = labels.values().as_string::<i32>().value(of_batch as usize);
                let key = Key::Label(self.code(text));
                memo.insert(of_batch, key);
                key
            }
            Type::I64 => Key::Number(array.as_primitive::<Int64Type>().value(row)),
            // A bound of a bucket; equal bounds have equal bits.
            Type::F64 => Key::Number(array.as_primitive::<Float64Type>().value(row).to_bits() as i64),
            Type::Text | Type::Time => Key::Null,
        }
    }

    fn cell(&mut self, place: Place) -> usize {
        if let Some(at) = self.known.get(&place) {
            return *at;
        }
        let at = self.places.len();
        self.places.push(place.clone());
        self.known.insert(place, at);
        self.over.resize(self.over.len() + self.values.len(), NOTHING);
        self.now.resize(self.over.len(), f64::NAN);
        at
    }

    /// Names of the columns that have values and are left out, as no average of them has a meaning.
    pub fn missing(&self) -> Vec<&'static str> {
        let stride = self.values.len();
        let left = self.values.iter().enumerate().filter(|(_, (_, rule))| *rule == Rule::Missing);
        let seen = left.filter(|(c, _)| (0..self.places.len()).any(|at| self.over[at * stride + c].n > 0));
        seen.map(|(_, (place, _))| self.table.columns[*place].name).collect()
    }

    /// The averages, and apart from them the standard deviations over the runs, as rows that begin at
    /// `start`. What a table without a row for idle things lacks in a run counts as 0.
    pub fn rows(&self, start: Micros, host: &str) -> (Rows, Rows) {
        let (mut means, mut spreads) = (Rows::new(host), Rows::new(host));
        let stride = self.values.len();
        let dt = (!self.instants).then_some(self.step as f64 / 1e6);
        for (at, (key, bin)) in self.places.iter().enumerate() {
            let t = bin.map(|bin| Micros(start.0 + bin * self.step));
            for (rows, spread) in [(&mut means, false), (&mut spreads, true)] {
                let mut any = false;
                let values: Vec<(usize, f64)> = (0..stride)
                    .filter_map(|c| {
                        let value = self.value(at * stride + c, self.values[c].1, spread);
                        any |= value.is_some();
                        Some((self.values[c].0, value?))
                    })
                    .collect();
                if any || (stride == 0 && !spread) {
                    self.row(rows, (t, dt), at, key, &values);
                }
            }
        }
        (means, spreads)
    }

    fn row(
        &self,
        rows: &mut Rows,
        (t, dt): (Option<Micros>, Option<f64>),
        at: usize,
        key: &[Key],
        values: &[(usize, f64)],
    ) {
        if let Some(Key::Label(code)) = key.first() {
            rows.set_host(&self.labels[*code as usize]);
        }
        let mut row = rows.row(self.table, t, dt);
        for (place, key) in self.keys.iter().zip(key).skip(1) {
            match (key, self.table.columns[*place].ty) {
                (Key::Label(code), _) => row.str(*place, &*self.labels[*code as usize]),
                (Key::Number(bits), Type::F64) => row.f64(*place, f64::from_bits(*bits as u64)),
                (Key::Number(number), _) => row.i64(*place, *number),
                (Key::Null, _) => continue,
            };
        }
        let others = self.others.len();
        for (place, label) in self.others.iter().zip(&self.of_others[at * others..(at + 1) * others]) {
            if let Key::Label(code) = label {
                row.str(*place, &*self.labels[*code as usize]);
            }
        }
        for (place, value) in values {
            match self.table.columns[*place].ty {
                Type::I64 => row.i64(*place, value.round() as i64),
                _ => row.f64(*place, *value),
            };
        }
    }

    fn value(&self, at: usize, rule: Rule, spread: bool) -> Option<f64> {
        let moments = self.over[at];
        if moments.n == 0 {
            return None;
        }
        let n = f64::from(moments.n);
        // Only busy processes have rows.
        let of = if self.table.columns.iter().any(|column| column.is_of_one_run) { self.runs as f64 } else { n };
        let mean = moments.mean * n / of;
        let squares = moments.squares + n * moments.mean * moments.mean - of * mean * mean;
        match (rule, spread) {
            (Rule::Mean, false) => Some(mean),
            (Rule::Mean, true) => (of > 1.0).then(|| (squares.max(0.0) / (of - 1.0)).sqrt()),
            (Rule::Sum, false) => Some(moments.mean * n),
            (Rule::Minimum, false) => Some(moments.min),
            (Rule::Maximum, false) => Some(moments.max),
            (Rule::Missing, _) | (_, true) => None,
        }
    }
}

/// Returns true if a table's rows can be averaged at all.
pub fn is_series(table: &Table) -> bool {
    matches!(table.shape, Shape::Series | Shape::Distribution)
}
