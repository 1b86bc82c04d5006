//! Statement statistics of an interval, added up by our own digest: servers keep several entries of one statement.
//!
//! Growth is known by entry; here it becomes rows, those that took the most time first, and one row for all others.

use fenxi_model::{
    Place, Rows,
    catalog::db_statement,
    place::F64,
    statement::{Quotes, digest, hidden_of},
};
use rustc_hash::FxHashMap;

use crate::{
    number::Number,
    reading::{About, Having},
    sample::some,
};

/// The most statements of an interval that have their own rows; the rest is added up in one.
const MOST: usize = 1_000;
/// Bytes of a text that are requested and kept.
pub const TEXT: usize = 4096;

/// Limit of the texts of statements, in bytes.
const TEXTS: usize = 16 << 20;

/// Forgets all texts when they take too much, so that those which are still there are asked for again.
pub fn make_room(texts: &mut FxHashMap<Box<str>, Text>) {
    let held: usize = texts.iter().map(|(id, text)| id.len() + text.form.len() + 100).sum();
    if held > TEXTS {
        texts.clear();
    }
}

/// A column that grows, and where it goes.
#[derive(Debug)]
pub struct Growing {
    /// Names in order of preference; several with ` + ` between them are added up.
    pub names: &'static [&'static str],
    /// Where its growth per second goes, times a factor.
    pub place: Place<db_statement::Schema, F64>,
    /// The factor.
    pub factor: f64,
    /// A setting without which 0 means unknown.
    pub needs: Option<&'static str>,
    /// True if it is counted by interval, not by second.
    pub is_count: bool,
}

/// Shorthand for lists of columns.
pub const fn growing(names: &'static [&'static str], place: Place<db_statement::Schema, F64>, factor: f64) -> Growing {
    Growing { names, place, factor, needs: None, is_count: false }
}

/// The columns that a view has, with the names by which it has them.
pub fn found(
    columns: &'static [Growing],
    view: &str,
    having: &Having,
) -> impl Iterator<Item = (&'static Growing, &'static str)> {
    columns.iter().filter_map(move |growing| {
        let is_known = growing.needs.is_none_or(|setting| having.is_on(setting));
        let has = |name: &&&str| is_known && name.split(" + ").all(|name| having.has(view, name));
        Some((growing, *growing.names.iter().find(has)?))
    })
}

/// The digest of all statements of pollers, which are not reported: they are none of the server's work.
pub const OWN: &str = "fenxi-db";

/// Whose entry it is, in our words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Key {
    /// Database.
    pub database: String,
    /// Our digest; set from the text.
    pub digest: String,
    /// User.
    pub user: String,
    /// Whether a function ran it.
    pub nested: Option<bool>,
}

/// A statement's text, in normal form.
#[derive(Clone, Debug)]
pub struct Text {
    /// Our digest of it.
    pub digest: String,
    /// The normal form.
    pub form: String,
}

impl Text {
    /// The normal form of a text as a server shows it, which may have cut it.
    pub fn of(text: &str, quotes: Quotes, is_cut: bool) -> Text {
        let form = hidden_of(text, quotes, is_cut);
        Text { digest: digest(&form), form }
    }
}

/// Growth of an entry between two readings.
#[derive(Debug)]
pub struct Grown {
    /// The server's number of the statement; empty when it has none.
    pub id: Box<str>,
    /// Whose it is.
    pub key: Key,
    /// Growth of each column.
    pub growth: Vec<f64>,
}

/// Adds rows: entries of one statement are added up, and what is beyond the limit is in one row. The first column is the
/// number of calls, the second their time.
pub fn tell(
    grown: Vec<Grown>,
    texts: &FxHashMap<Box<str>, Text>,
    columns: &[&'static Growing],
    (about, dt): (&About<'_>, f64),
    rows: &mut Rows,
) {
    let mut sums: FxHashMap<Key, (Option<&str>, Vec<f64>)> = FxHashMap::default();
    let mut others: Option<Vec<f64>> = None;
    let add = |sum: &mut Vec<f64>, growth: &[f64]| sum.iter_mut().zip(growth).for_each(|(sum, grew)| *sum += grew);
    for Grown { id, mut key, growth } in grown {
        // Statements that a server has added up itself have no number.
        if id.is_empty() {
            add(others.get_or_insert_with(|| vec![0.0; growth.len()]), &growth);
            continue;
        }
        let text = texts.get_key_value(&id);
        if text.is_some_and(|(_, text)| text.digest == OWN) {
            continue;
        }
        text.map_or("", |(_, text)| text.digest.as_str()).clone_into(&mut key.digest);
        let sum = sums.entry(key).or_insert_with(|| (text.map(|(id, _)| &**id), vec![0.0; growth.len()]));
        add(&mut sum.1, &growth);
    }
    let mut all: Vec<_> = sums.into_iter().collect();
    all.sort_by(|a, b| b.1.1[1].total_cmp(&a.1.1[1]).then_with(|| a.0.digest.cmp(&b.0.digest)));
    let rest = all.split_off(all.len().min(MOST));
    for (key, (id, sum)) in &all {
        row(Some((key, *id)), texts, (columns, sum), (about, dt), rows);
    }
    for (_, (_, growth)) in &rest {
        add(others.get_or_insert_with(|| vec![0.0; growth.len()]), growth);
    }
    if let Some(sum) = others {
        row(None, texts, (columns, &sum), (about, dt), rows);
    }
    if !rest.is_empty() {
        let message = format!("{} statements of an interval are added up as `(others)`", rest.len());
        rows.note(about.server, None, &message);
    }
}

fn row(
    whose: Option<(&Key, Option<&str>)>,
    texts: &FxHashMap<Box<str>, Text>,
    (columns, sum): (&[&'static Growing], &[f64]),
    (about, dt): (&About<'_>, f64),
    rows: &mut Rows,
) {
    let mut row = rows.row(&db_statement::TABLE, about.interval.t, dt);
    row.str(db_statement::server, about.server);
    match whose {
        Some((key, id)) => {
            let text = id.and_then(|id| texts.get(id));
            row.str(db_statement::query_id, id)
                .str(db_statement::database, some(&key.database))
                .str(db_statement::digest, some(&key.digest))
                .str(db_statement::user, some(&key.user))
                .str(db_statement::nested, key.nested.map(|nested| if nested { "yes" } else { "no" }))
                .str(db_statement::statement, text.map(|text| text.form.as_str()));
        }
        None => {
            row.str(db_statement::statement, "(others)");
        }
    }
    for (growing, value) in columns.iter().zip(sum) {
        row.f64(growing.place, value * growing.factor / if growing.is_count { 1.0 } else { dt });
    }
    if let (Some(time), Some(calls)) = (columns.get(1), sum.first().filter(|calls| **calls > 0.0)) {
        row.f64(db_statement::mean_ms, sum[1] * time.factor * 1e3 / calls);
    }
}

/// By how much an entry grew. One that went back was reset or evicted, and all that it shows has happened since.
pub fn growth(now: &[Option<Number>], last: Option<&[Option<Number>]>) -> Vec<f64> {
    let whole = || now.iter().map(|value| value.map_or(0.0, Number::as_f64)).collect();
    let Some(last) = last else { return whole() };
    let grown: Option<Vec<f64>> = now
        .iter()
        .zip(last)
        .map(|pair| if let (Some(now), Some(last)) = pair { now.since(*last) } else { Some(0.0) })
        .collect();
    grown.unwrap_or_else(whole)
}

#[cfg(test)]
mod tests {
    use fenxi_model::Micros;

    use super::*;
    use crate::moment::Interval;

    #[test]
    fn what_went_back_grew_by_what_it_shows() {
        let read = |texts: &[&str]| texts.iter().map(|text| Number::read(text)).collect::<Vec<_>>();
        assert_eq!(growth(&read(&["5", "2.5"]), Some(&read(&["3", "1"]))), [2.0, 1.5]);
        // Evicted, and busier since: the calls alone would not show it.
        assert_eq!(growth(&read(&["9", "0.5"]), Some(&read(&["3", "1"]))), [9.0, 0.5]);
        assert_eq!(growth(&read(&["9", ""]), None), [9.0, 0.0]);
    }

    static COLUMNS: &[Growing] =
        &[growing(&["calls"], db_statement::calls_per_s, 1.0), growing(&["time"], db_statement::time, 1e-3)];

    #[test]
    fn a_cut_keeps_the_sum_and_entries_of_one_statement_are_one_row() {
        let mut texts = FxHashMap::default();
        let mut grown = Vec::new();
        for n in 0..MOST + 50 {
            let id: Box<str> = n.to_string().into();
            texts.insert(id.clone(), Text::of(&format!("SELECT a{n} FROM t"), Quotes::Standard, false));
            // Two entries of each.
            for _ in 0..2 {
                grown.push(Grown { id: id.clone(), key: Key::default(), growth: vec![1.0, n as f64] });
            }
        }
        // Statements of pollers are in no sum.
        texts.insert("own".into(), Text { digest: OWN.to_owned(), form: OWN.to_owned() });
        grown.push(Grown { id: "own".into(), key: Key::default(), growth: vec![900.0, 900.0] });
        grown.push(Grown { id: "".into(), key: Key::default(), growth: vec![7.0, 1.0] });
        let columns: Vec<_> = COLUMNS.iter().collect();
        let interval = Interval { t: Micros(1), dt: Some(2.0) };
        let about = About { server: "s", interval, is_last: false };
        let mut rows = Rows::new("h");
        tell(grown, &texts, &columns, (&about, 2.0), &mut rows);
        let told = rows.of(&db_statement::TABLE).unwrap();
        assert_eq!(told.n_rows(), MOST + 1);
        let calls = |row: usize| told.f64(row, db_statement::calls_per_s).unwrap() * 2.0;
        assert_eq!((0..told.n_rows()).map(calls).sum::<f64>(), (2 * (MOST + 50) + 7) as f64);
        assert_eq!(told.str(MOST, db_statement::statement), Some("(others)"));
        assert_eq!((calls(MOST), told.str(MOST, db_statement::digest)), (107.0, None));
        assert_eq!((calls(0), told.f64(0, db_statement::mean_ms)), (2.0, Some((MOST + 49) as f64)));
    }
}
