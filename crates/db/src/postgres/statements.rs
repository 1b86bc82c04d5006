//! `pg_stat_statements`: what each statement took since the last reading, by our own digest of its text.
//!
//! The server's number of a statement differs between versions, after a table was made anew, and with the length of
//! lists; several of its entries can be one statement of ours and are added up. Texts are asked for only when a number is
//! new: that reads a file. An entry that went back was evicted or reset and has grown by what it shows.

use std::time::Instant;

use fenxi_model::{Micros, Rows, catalog::db_statement, statement::Quotes};
use fenxi_wire::client::ClientError;
use rustc_hash::FxHashMap;

use super::{MARK, PREPARED};
use crate::{
    client::Client,
    mark::is_marked,
    number::Number,
    observed::{Heavy, heavy},
    reading::{About, Having},
    sample::cut,
    statements::{Growing, Grown, Key, OWN, TEXT, Text, found, growing, growth, make_room, tell},
};

/// Texts are read from a file, all of them each time: that takes at most this share of the time.
const SHARE_OF_TIME: f64 = 0.002;
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
        is_count: false,
    },
    Growing {
        names: &["plans"],
        place: db_statement::plans_per_s,
        factor: 1.0,
        needs: Some("pg_stat_statements.track_planning"),
        is_count: false,
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
        is_count: false,
    },
    Growing {
        names: &["shared_blk_write_time", "blk_write_time"],
        place: db_statement::write_time,
        factor: 1e-3,
        needs: Some("track_io_timing"),
        is_count: false,
    },
    growing(&["wal_bytes"], db_statement::wal_bytes_per_s, 1.0),
    growing(
        &["jit_generation_time + jit_inlining_time + jit_optimization_time + jit_emission_time"],
        db_statement::jit_time,
        1e-3,
    ),
];

/// Hint: the privilege that shows statements of others.
pub const HIDDEN: &str = "GRANT pg_monitor shows them";

/// Statements at work.
pub struct Statements {
    view: String,
    sql: String,
    columns: Vec<&'static Growing>,
    texts: FxHashMap<Box<str>, Text>,
    seen: FxHashMap<Box<str>, Vec<Option<Number>>>,
    has_last: bool,
    /// Statements of the latest interval with their cost, until they are taken.
    pub heavy: Option<Vec<Heavy>>,
    /// When texts may be asked for again.
    learn_from: Option<Micros>,
    /// Entries evicted so far, where the server counts them.
    evicted: Option<Number>,
    /// Entries evicted between the last two readings, until somebody takes them.
    pub lost: Option<f64>,
    /// Entries of others in the last reading, which show neither a number nor a text.
    pub hidden: usize,
}

impl Statements {
    /// Of an extension's view with these columns; None when they are not those of it.
    pub fn new(view: &str, having: &Having) -> Option<Statements> {
        let found: Vec<_> = found(COLUMNS, view, having).collect();
        if found.first().is_none_or(|(_, name)| *name != "calls") || found.len() < 3 {
            return None;
        }
        let nested = if having.has(view, "toplevel") { "NOT s.toplevel" } else { "NULL::boolean" };
        let names: Vec<_> = found.iter().map(|(_, name)| format!("s.{name}")).collect();
        let sql = format!(
            "SELECT {MARK} s.queryid, s.dbid, d.datname, s.userid, r.rolname, {nested}, {} FROM {view}(false) s \
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
            heavy: None,
            learn_from: None,
            evicted: None,
            lost: None,
            hidden: 0,
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

    /// All counters began anew within the interval: what they show is their growth.
    pub fn began_anew(&mut self) {
        self.seen.clear();
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
        let mut grown: Vec<Grown> = Vec::new();
        let mut now: FxHashMap<Box<str>, Vec<Option<Number>>> = FxHashMap::default();
        let mut unknown = false;
        let long_ago = about.is_last || self.learn_from.is_none_or(|from| about.interval.t >= from);
        // Whether texts can be asked for behind this reading.
        let asks = long_ago || !self.has_last;
        let had_hidden = std::mem::take(&mut self.hidden) > 0;
        let Statements { sql, columns, seen, texts, has_last, hidden, .. } = self;
        client.each_again(sql, &mut |row| {
            // A row of other columns than those that were asked for is none.
            if row.len() != 6 + columns.len() {
                return;
            }
            // An entry of somebody whose statements we may not see has no number.
            let Some(id) = row.text(0) else {
                *hidden += 1;
                return;
            };
            let nested = row.is_yes(5);
            let entry =
                format!("{id}/{}/{}/{nested:?}", row.text(1).unwrap_or_default(), row.text(3).unwrap_or_default());
            let values: Vec<_> = (6..6 + columns.len()).map(|at| row.text(at).and_then(Number::read)).collect();
            let last = seen.get(entry.as_str());
            let grew = last.is_none_or(|last| *last != values);
            // Growth of an entry is kept until its text is known.
            if *has_last && grew && !texts.contains_key(id) && !asks {
                unknown = true;
                if let Some(last) = last {
                    now.insert(entry.into(), last.clone());
                }
                return;
            }
            if grew {
                let key = Key {
                    database: row.text(2).unwrap_or_default().to_owned(),
                    digest: String::new(),
                    user: row.text(4).unwrap_or_default().to_owned(),
                    nested,
                };
                unknown |= *has_last && !texts.contains_key(id);
                grown.push(Grown { id: id.into(), key, growth: growth(&values, last.map(Vec::as_slice)) });
            }
            now.insert(entry.into(), values);
        })?;
        if self.hidden > 0 && !had_hidden {
            rows.note(about.server, None, &format!("{} statements of others are not seen: {HIDDEN}", self.hidden));
        }
        self.seen = now;
        let was_first = !std::mem::replace(&mut self.has_last, true);
        if was_first || (unknown && asks) {
            let began = Instant::now();
            self.learn(client)?;
            let pause = began.elapsed().div_f64(SHARE_OF_TIME);
            let pause = i64::try_from(pause.as_micros()).unwrap_or(i64::MAX);
            self.learn_from = Some(Micros(about.interval.t.0.saturating_add(pause)));
        }
        // Of the first reading the shares of all that was counted so far.
        let dt = about.interval.dt.filter(|dt| *dt > 0.0 && !was_first);
        let s = self.columns.get(1).map_or(1e-3, |time| time.factor);
        self.heavy = Some(heavy(&grown, &self.texts, s, dt.unwrap_or(1.0)));
        if let Some(dt) = dt {
            tell(grown, &self.texts, &self.columns, (about, dt), rows);
        }
        Ok(())
    }

    /// Asks for the texts of the statements whose numbers are new.
    fn learn(&mut self, client: &mut Client) -> Result<(), ClientError> {
        let sql = format!("SELECT {MARK} queryid, left(query, {TEXT}) FROM {}(true)", self.view);
        make_room(&mut self.texts);
        let texts = &mut self.texts;
        client.each_hidden(&sql, &hides_text(1), &mut |row| {
            if let (Some(id), Some(text)) = (row.text(0), row.text(1)) {
                texts.entry(id.into()).or_insert_with(|| normal(text));
            }
        })?;
        Ok(())
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

/// Puts the normal form of a statement in its place: values are not kept. Of our own statements the mark stays.
pub fn hides_text(place: usize) -> impl Fn(&mut [Option<String>]) {
    move |values| {
        if let Some(Some(text)) = values.get_mut(place) {
            *text = if is_marked(text) { MARK.to_owned() } else { normal(text).form };
        }
    }
}

/// A text in normal form, with its digest. Our own statements are one.
fn normal(text: &str) -> Text {
    // Up to PostgreSQL 13 the text of what is explained begins behind the mark.
    let explains = text.strip_prefix("EXECUTE ").is_some_and(|rest| rest.starts_with(PREPARED));
    if is_marked(text) || explains {
        return Text { digest: OWN.to_owned(), form: OWN.to_owned() };
    }
    Text::of(cut(text, TEXT), Quotes::Standard, text.len() >= TEXT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_keeps_no_value() {
        let text = normal("ALTER USER bob PASSWORD 'hunter2'");
        assert!(!text.form.contains("hunter2"), "{}", text.form);
        assert_eq!(normal("SELECT 1 WHERE a = $1").digest, normal("select  2 where a = 'x'").digest);
        assert_eq!(normal("SELECT /* fenxi-db */ 1").form, "fenxi-db");
    }
}
