//! `pg_stat_statements`: what each statement took since the last reading, by our own digest of its text.
//!
//! The server's number of a statement differs between versions, after a table was made anew, and with the length of
//! lists; several of its entries can be one statement of ours and are added up. Texts are asked for only when a number is
//! new: that reads a file. An entry that went back was evicted or reset and has grown by what it shows.

use std::time::Instant;

use fenxi_model::{
    Micros, Place, Rows,
    catalog::db_statement,
    place::F64,
    statement::{Quotes, digest, hidden_of},
};
use fenxi_wire::client::{Client, ClientError};
use rustc_hash::FxHashMap;

use super::MARK;
use crate::{
    number::Number,
    reading::{About, Having},
};

/// The most statements of an interval that have rows of their own; the rest is added up in one.
const MOST: usize = 1_000;
/// Texts are read from a file, all of them each time: that takes at most this share of the time.
const SHARE_OF_TIME: f64 = 0.002;
/// How much of a text is asked for, and kept.
const TEXT: usize = 4096;

/// A column that grows, and where it goes.
struct Growing {
    /// Names in order of preference.
    names: &'static [&'static str],
    /// Where its growth per second goes, times a factor.
    place: Place<db_statement::Schema, F64>,
    factor: f64,
    /// A setting without which 0 means unknown.
    needs: Option<&'static str>,
}

const fn growing(names: &'static [&'static str], place: Place<db_statement::Schema, F64>, factor: f64) -> Growing {
    Growing { names, place, factor, needs: None }
}

const BLOCK: f64 = 8192.0;

/// The first is the number of calls, the second the time in milliseconds.
const COLUMNS: &[Growing] = &[
    growing(&["calls"], db_statement::calls_per_s, 1.0),
    growing(&["total_exec_time", "total_time"], db_statement::time, 1e-3),
    Growing {
        names: &["total_plan_time"],
        place: db_statement::plan_time,
        factor: 1e-3,
        needs: Some("pg_stat_statements.track_planning"),
    },
    growing(&["rows"], db_statement::rows_per_s, 1.0),
    growing(&["shared_blks_hit"], db_statement::cache_hits_per_s, 1.0),
    growing(&["shared_blks_read"], db_statement::cache_misses_per_s, 1.0),
    growing(&["shared_blks_dirtied"], db_statement::dirtied_blocks_per_s, 1.0),
    growing(&["shared_blks_written"], db_statement::written_blocks_per_s, 1.0),
    growing(&["temp_blks_read"], db_statement::temp_read_bytes_per_s, BLOCK),
    growing(&["temp_blks_written"], db_statement::temp_bytes_per_s, BLOCK),
    Growing {
        names: &["shared_blk_read_time", "blk_read_time"],
        place: db_statement::read_time,
        factor: 1e-3,
        needs: Some("track_io_timing"),
    },
    Growing {
        names: &["shared_blk_write_time", "blk_write_time"],
        place: db_statement::write_time,
        factor: 1e-3,
        needs: Some("track_io_timing"),
    },
    growing(&["wal_bytes"], db_statement::wal_bytes_per_s, 1.0),
    growing(&["jit_generation_time"], db_statement::jit_time, 1e-3),
];

/// Whose entry it is, in our words.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    database: String,
    digest: String,
    user: String,
    nested: Option<bool>,
}

/// A statement's text, in normal form.
#[derive(Clone)]
struct Text {
    digest: String,
    form: String,
}

/// Statements at work.
pub struct Statements {
    view: String,
    sql: String,
    columns: Vec<&'static Growing>,
    texts: FxHashMap<Box<str>, Text>,
    seen: FxHashMap<Box<str>, Vec<Option<Number>>>,
    has_last: bool,
    /// When texts may be asked for again.
    learn_from: Option<Micros>,
    /// Entries evicted so far, where the server counts them.
    evicted: Option<Number>,
    /// Entries evicted between the last two readings, until somebody takes them.
    pub lost: Option<f64>,
}

impl Statements {
    /// Of an extension's view with these columns; None when they are not those of it.
    pub fn new(view: &str, having: &Having) -> Option<Statements> {
        let found = COLUMNS.iter().filter_map(|growing| {
            let is_known = growing.needs.is_none_or(|setting| having.is_on(setting));
            let name = growing.names.iter().find(|name| is_known && having.has(view, name))?;
            Some((growing, *name))
        });
        let found: Vec<_> = found.collect();
        if found.first().is_none_or(|(_, name)| *name != "calls") || found.len() < 3 {
            return None;
        }
        let nested = if having.has(view, "toplevel") { "NOT s.toplevel" } else { "NULL::boolean" };
        let names: Vec<_> = found.iter().map(|(_, name)| format!("s.{name}")).collect();
        let sql = format!(
            "{MARK} SELECT s.queryid, s.dbid, d.datname, s.userid, r.rolname, {nested}, {} FROM {view}(false) s \
             LEFT JOIN pg_database d ON d.oid = s.dbid LEFT JOIN pg_roles r ON r.oid = s.userid",
            names.join(", ")
        );
        Some(Statements {
            view: view.to_owned(),
            sql,
            columns: found.into_iter().map(|(growing, _)| growing).collect(),
            texts: FxHashMap::default(),
            seen: FxHashMap::default(),
            has_last: false,
            learn_from: None,
            evicted: None,
            lost: None,
        })
    }

    /// Name of the view, with its schema.
    pub fn view(&self) -> &str {
        &self.view
    }

    /// Forgets all counters.
    pub fn forget(&mut self) {
        self.seen.clear();
        self.has_last = false;
        self.evicted = None;
    }

    /// Our digest of the statement that the server has a number for.
    pub fn digest(&self, query_id: &str) -> Option<&str> {
        self.texts.get(query_id).map(|text| text.digest.as_str())
    }

    /// Reads all entries and adds rows for those that grew.
    ///
    /// # Errors
    /// When the server refuses, or the connection is lost.
    pub fn read(&mut self, client: &mut Client, about: &About<'_>, rows: &mut Rows) -> Result<(), ClientError> {
        let mut grown: Vec<(Box<str>, Key, Vec<f64>)> = Vec::new();
        let mut now: FxHashMap<Box<str>, Vec<Option<Number>>> = FxHashMap::default();
        let mut unknown = false;
        let long_ago = about.is_last || self.learn_from.is_none_or(|from| about.interval.t >= from);
        // Whether texts can be asked for behind this reading.
        let asks = long_ago || !self.has_last;
        let Statements { sql, columns, seen, texts, has_last, .. } = self;
        client.each_again(sql, &mut |row| {
            // An entry of somebody whose statements we may not see has no number.
            let Some(id) = row.text(0) else { return };
            let nested = row.is_yes(5);
            let entry =
                format!("{id}/{}/{}/{nested:?}", row.text(1).unwrap_or_default(), row.text(3).unwrap_or_default());
            let values: Vec<_> = (6..6 + columns.len()).map(|at| row.text(at).and_then(Number::read)).collect();
            let last = seen.get(entry.as_str());
            let grew = last.is_none_or(|last| *last != values);
            // What it grew by is kept until its text is known.
            if *has_last && grew && !texts.contains_key(id) && !asks {
                unknown = true;
                if let Some(last) = last {
                    now.insert(entry.into(), last.clone());
                }
                return;
            }
            if *has_last && grew {
                let key = Key {
                    database: row.text(2).unwrap_or_default().to_owned(),
                    digest: String::new(),
                    user: row.text(4).unwrap_or_default().to_owned(),
                    nested,
                };
                unknown |= !texts.contains_key(id);
                grown.push((id.into(), key, growth(&values, last)));
            }
            now.insert(entry.into(), values);
        })?;
        self.seen = now;
        let was_first = !std::mem::replace(&mut self.has_last, true);
        if was_first || (unknown && asks) {
            let began = Instant::now();
            self.learn(client)?;
            let pause = began.elapsed().div_f64(SHARE_OF_TIME);
            let pause = i64::try_from(pause.as_micros()).unwrap_or(i64::MAX);
            self.learn_from = Some(Micros(about.interval.t.0.saturating_add(pause)));
        }
        if let Some(dt) = about.interval.dt.filter(|dt| *dt > 0.0 && !was_first) {
            self.tell(grown, about, dt, rows);
        }
        Ok(())
    }

    /// Asks for the texts of the statements whose numbers are new.
    fn learn(&mut self, client: &mut Client) -> Result<(), ClientError> {
        let sql = format!("{MARK} SELECT queryid, left(query, {TEXT}) FROM {}(true)", self.view);
        let texts = &mut self.texts;
        client.each(&sql, &mut |row| {
            if let (Some(id), Some(text)) = (row.text(0), row.text(1)) {
                texts.entry(id.into()).or_insert_with(|| normal(text));
            }
        })?;
        Ok(())
    }

    /// Adds rows: entries of one statement are added up, and what is beyond the limit is in one row.
    fn tell(&self, grown: Vec<(Box<str>, Key, Vec<f64>)>, about: &About<'_>, dt: f64, rows: &mut Rows) {
        let mut sums: FxHashMap<Key, (Option<&str>, Vec<f64>)> = FxHashMap::default();
        for (id, mut key, growth) in grown {
            let text = self.texts.get_key_value(&id);
            text.map_or("", |(_, text)| text.digest.as_str()).clone_into(&mut key.digest);
            let sum = sums.entry(key).or_insert_with(|| (text.map(|(id, _)| &**id), vec![0.0; growth.len()]));
            sum.1.iter_mut().zip(growth).for_each(|(sum, growth)| *sum += growth);
        }
        let mut all: Vec<_> = sums.into_iter().collect();
        all.sort_by(|a, b| b.1.1[1].total_cmp(&a.1.1[1]).then_with(|| a.0.digest.cmp(&b.0.digest)));
        let rest = all.split_off(all.len().min(MOST));
        for (key, (id, sum)) in &all {
            self.row(about, dt, Some(key), *id, sum, rows);
        }
        if !rest.is_empty() {
            let mut sum = vec![0.0; self.columns.len()];
            for (_, (_, growth)) in &rest {
                sum.iter_mut().zip(growth).for_each(|(sum, growth)| *sum += growth);
            }
            self.row(about, dt, None, None, &sum, rows);
            rows.note(
                about.server,
                None,
                &format!("{} statements of an interval are added up as `(others)`", rest.len()),
            );
        }
    }

    fn row(&self, about: &About<'_>, dt: f64, key: Option<&Key>, id: Option<&str>, sum: &[f64], rows: &mut Rows) {
        let some = |text: &'static str| (!text.is_empty()).then_some(text);
        let text = id.and_then(|id| self.texts.get(id));
        let mut row = rows.row(&db_statement::TABLE, about.interval.t, dt);
        row.str(db_statement::server, about.server).str(db_statement::query_id, id);
        match key {
            Some(key) => {
                row.str(db_statement::database, crate::sample::some(&key.database))
                    .str(db_statement::digest, crate::sample::some(&key.digest))
                    .str(db_statement::user, crate::sample::some(&key.user))
                    .str(db_statement::nested, some(key.nested.map_or("", |nested| if nested { "yes" } else { "no" })))
                    .str(db_statement::statement, text.map(|text| text.form.as_str()));
            }
            None => {
                row.str(db_statement::statement, "(others)");
            }
        }
        for (growing, value) in self.columns.iter().zip(sum) {
            row.f64(growing.place, value * growing.factor / dt);
        }
        if sum[0] > 0.0 {
            row.f64(db_statement::mean_ms, sum[1] / sum[0]);
        }
    }

    /// Counts the entries that were evicted since the last time.
    ///
    /// # Errors
    /// When the server refuses, or the connection is lost.
    pub fn count_lost(&mut self, client: &mut Client, sql: Option<&str>) -> Result<(), ClientError> {
        let Some(sql) = sql else { return Ok(()) };
        let mut now = None;
        client.each_again(sql, &mut |row| now = row.text(0).and_then(Number::read))?;
        self.lost = now.zip(self.evicted).and_then(|(now, last)| now.since(last));
        self.evicted = now;
        Ok(())
    }
}

/// By how much an entry grew. One that went back was reset or evicted, and all that it shows has happened since.
fn growth(now: &[Option<Number>], last: Option<&Vec<Option<Number>>>) -> Vec<f64> {
    let whole = || now.iter().map(|value| value.map_or(0.0, Number::as_f64)).collect();
    let Some(last) = last else { return whole() };
    let grown: Option<Vec<f64>> = now
        .iter()
        .zip(last)
        .map(|pair| if let (Some(now), Some(last)) = pair { now.since(*last) } else { Some(0.0) })
        .collect();
    grown.unwrap_or_else(whole)
}

/// A text in normal form, with its digest. Our own statements are one.
fn normal(text: &str) -> Text {
    if text.starts_with(MARK) {
        return Text { digest: "fenxi-db".to_owned(), form: "fenxi-db".to_owned() };
    }
    let form = hidden_of(text, Quotes::Standard, text.len() >= TEXT);
    Text { digest: digest(&form), form }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_back_grew_by_what_it_shows() {
        let read = |texts: &[&str]| texts.iter().map(|text| Number::read(text)).collect::<Vec<_>>();
        assert_eq!(growth(&read(&["5", "2.5"]), Some(&read(&["3", "1"]))), [2.0, 1.5]);
        // Evicted, and busier since: the calls alone would not tell.
        assert_eq!(growth(&read(&["9", "0.5"]), Some(&read(&["3", "1"]))), [9.0, 0.5]);
        assert_eq!(growth(&read(&["9", ""]), None), [9.0, 0.0]);
    }

    #[test]
    fn a_text_keeps_no_value() {
        let text = normal("ALTER USER bob PASSWORD 'hunter2'");
        assert!(!text.form.contains("hunter2"), "{}", text.form);
        assert_eq!(normal("SELECT 1 WHERE a = $1").digest, normal("select  2 where a = 'x'").digest);
        assert_eq!(normal("/* fenxi-db */ SELECT 1").form, "fenxi-db");
    }
}
