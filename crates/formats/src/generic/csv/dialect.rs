//! How a file of separated values is written: found out from its beginning.

use crate::generic::{
    sheet::{Decimal, Mapping, missing, number_in},
    when::When,
};

/// Header rows at the beginning, which define the columns.
const SAMPLE: usize = 100;
const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// The longest name of a column.
const LONGEST_NAME: usize = 200;

/// Columns of lists of people, places and goods.
const LISTED: &[&str] = &[
    "zip",
    "zipcode",
    "zip code",
    "postcode",
    "postal code",
    "lat",
    "lon",
    "lng",
    "latitude",
    "longitude",
    "phone",
    "email",
    "e-mail",
    "isbn",
    "age",
    "first name",
    "firstname",
    "last name",
    "lastname",
    "surname",
    "street",
    "city",
    "country",
    "gender",
    "salary",
    "price",
    "assignee",
];

/// Words in the names of measurements.
const MEASURES: &[&str] = &[
    "bps",
    "bytes",
    "clients",
    "connections",
    "cpu",
    "cycles",
    "disk",
    "errors",
    "fps",
    "gbps",
    "idle",
    "instructions",
    "iops",
    "iowait",
    "kb",
    "kbps",
    "latency",
    "load",
    "mb",
    "mbps",
    "mem",
    "memory",
    "misses",
    "ms",
    "ns",
    "ops",
    "p50",
    "p90",
    "p95",
    "p99",
    "qps",
    "queries",
    "read",
    "reads",
    "req",
    "requests",
    "rps",
    "rss",
    "rx",
    "sec",
    "swap",
    "sys",
    "system",
    "threads",
    "throughput",
    "tps",
    "transactions",
    "tx",
    "us",
    "user",
    "usr",
    "util",
    "write",
    "writes",
];

/// Dialect that the beginning of a file shows.
#[derive(Debug)]
pub(super) struct Dialect {
    pub(super) separator: u8,
    /// Lines before the header or the first row.
    pub(super) skip: usize,
    pub(super) header: bool,
    /// The cells of the first rows, the header not among them.
    pub(super) sample: Vec<Vec<String>>,
    pub(super) names: Vec<String>,
}

impl Dialect {
    pub(super) fn decimal(&self) -> Decimal {
        if self.separator == b',' { Decimal::Point } else { Decimal::Either }
    }

    /// Whether the header's cells can be names: separate words, none of them twice.
    pub(super) fn names_columns(&self) -> bool {
        let mut names: Vec<&str> = self.names.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
        let all = names.len();
        let named = names.iter().all(|name| name.len() <= LONGEST_NAME && name.chars().any(char::is_alphabetic));
        names.sort_unstable();
        names.dedup();
        named && names.len() == all
    }

    /// Whether the rows are measurements: numbers at times, several numbers, or numbers by name. A word and a number, as lists
    /// of all kinds have them, are none; and there is none without a column whose cells are all but numbers.
    pub(super) fn is_measured(&self) -> bool {
        let cells = |place: usize| self.sample.iter().filter_map(move |row| row.get(place)).map(String::as_str);
        let time = (0..self.names.len()).find(|place| is_time(&self.names[*place], cells(*place)));
        let others = (0..self.names.len()).filter(|place| time != Some(*place));
        let numeric = others.filter(|place| is_numeric(cells(*place), self.decimal())).count();
        let has = |name: &str| self.names.iter().any(|known| known.eq_ignore_ascii_case(name));
        let by_name = has("value") && (has("metric") || has("name"));
        // Columns that identify or locate persons are no measurements, nor are the numbers beside them.
        let is_list = self.names.iter().any(|name| LISTED.iter().any(|listed| name.eq_ignore_ascii_case(listed)));
        if time.is_none() && !by_name && (is_list || !self.names_measures()) {
            return false;
        }
        numeric >= if time.is_some() || by_name { 1 } else { 2 }
    }

    /// Whether most columns of numbers are called as measurements are: without times nothing else distinguishes a table of them from any.
    fn names_measures(&self) -> bool {
        let cells = |place: usize| self.sample.iter().filter_map(move |row| row.get(place)).map(String::as_str);
        let numeric = (0..self.names.len()).filter(|place| is_numeric(cells(*place), self.decimal()));
        let (mut all, mut measures) = (0, 0);
        for place in numeric {
            let name = self.names[place].to_ascii_lowercase();
            let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
            all += 1;
            measures += usize::from(words.any(|word| MEASURES.contains(&word)) || name.contains("/s"));
        }
        measures > 0 && measures * 2 >= all
    }

    /// Whether most rows of the sample have as many cells as the header.
    pub(super) fn is_regular(&self) -> bool {
        let regular = self.sample.iter().filter(|row| row.len() == self.names.len()).count();
        !self.sample.is_empty() && regular * 10 >= self.sample.len() * 9
    }
}

/// A reader as all files here are read.
pub(super) fn builder(separator: u8) -> csv::ReaderBuilder {
    let mut builder = csv::ReaderBuilder::new();
    builder.delimiter(separator).has_headers(false).flexible(true);
    builder
}

/// Finds out how the file that begins with `head` is written; None when no separator makes columns
/// of it.
pub(super) fn dialect(head: &str, mapping: &Mapping) -> Option<Dialect> {
    // A head that was cut ends within a line; its rows but the last are whole.
    let skip = mapping.skip() + comments(head.lines().skip(mapping.skip()));
    let text = head.split_inclusive('\n').skip(skip).collect::<String>();
    let separator = match mapping.separator() {
        Some(separator) => separator,
        None => {
            // Only what the first row has can make columns of it; within quotes that may be several lines.
            let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("");
            let may = |s: &u8| first.contains('"') || first.as_bytes().contains(s);
            SEPARATORS.into_iter().filter(may).max_by_key(|s| (score(&text, *s), std::cmp::Reverse(*s)))?
        }
    };
    let mut rows = sample(&text, separator);
    let first = rows.first()?.clone();
    if first.len() < 2 && mapping.separator().is_none() {
        return None;
    }
    let decimal = if separator == b',' { Decimal::Point } else { Decimal::Either };
    let words = first.iter().all(|cell| number_in(cell, decimal).is_none() && When::detect("", cell).is_none());
    let named = first.iter().filter(|cell| !cell.trim().is_empty()).count() * 2 > first.len();
    let header = words && named && mapping.columns().is_empty();
    let names = match mapping.columns() {
        [] if header => rows.remove(0),
        [] => (1..=first.len()).map(|i| format!("column{i}")).collect(),
        columns => columns.to_vec(),
    };
    let names: Vec<String> = names.iter().map(|name| unquoted(name).to_owned()).collect();
    let repeated = |row: &[String]| header && row.iter().map(|c| c.trim()).eq(&names);
    rows.retain(|row| !row[0].starts_with('#') && !repeated(row));
    Some(Dialect { separator, skip, header, sample: rows, names })
}

/// A cell without blanks around it, and without the quotes that stand behind one.
pub(super) fn unquoted(cell: &str) -> &str {
    let cell = cell.trim();
    cell.strip_prefix('"').and_then(|inner| inner.strip_suffix('"')).unwrap_or(cell)
}

/// Lines at the beginning that are comments or blank.
fn comments<'a>(lines: impl Iterator<Item = &'a str>) -> usize {
    lines.take_while(|line| line.starts_with('#') && !line.starts_with("#,") || line.trim().is_empty()).count()
}

/// How well a separator fits: the cells of rows with as many cells as the first, where there are several.
fn score(text: &str, separator: u8) -> usize {
    let rows = sample(text, separator);
    let Some(columns) = rows.first().map(Vec::len).filter(|columns| *columns > 1) else { return 0 };
    rows.iter().filter(|row| row.len() == columns).count() * columns
}

/// The first rows of `text`, but for the last one if it may be cut.
fn sample(text: &str, separator: u8) -> Vec<Vec<String>> {
    let mut reader = builder(separator).from_reader(text.as_bytes());
    let rows = reader.records().take(SAMPLE + 1).map_while(Result::ok);
    let mut rows: Vec<Vec<String>> = rows.map(|row| row.iter().map(str::to_owned).collect()).collect();
    rows.retain(|row| row.iter().any(|cell| !cell.trim().is_empty()));
    if !text.ends_with('\n') && text.len() > 60_000 {
        rows.pop();
    }
    rows
}

/// Whether the cells of a column are numbers: most of those that are there at all.
pub(super) fn is_numeric<'a>(cells: impl Iterator<Item = &'a str>, decimal: Decimal) -> bool {
    let (mut all, mut numbers) = (0u32, 0u32);
    for cell in cells.filter(|cell| !missing(cell)) {
        all += 1;
        numbers += u32::from(number_in(cell, decimal).is_some());
    }
    numbers > 0 && numbers * 10 >= all * 8
}

/// Whether the cells of a column are times: most of those that are there at all, and at least one.
fn is_time<'a>(name: &str, cells: impl Iterator<Item = &'a str>) -> bool {
    let (mut all, mut times) = (0u32, 0u32);
    for cell in cells.filter(|cell| !missing(cell)) {
        all += 1;
        times += u32::from(When::detect(name, cell.trim()).is_some());
    }
    times > 0 && times * 10 >= all * 9
}
