//! Statements by digest of the performance schema: what each took since the last reading, by our own digest of its text.
//!
//! The server's digests differ between MySQL 5.7, 8.0 and MariaDB, and so does the form of their texts. Its table only
//! grows until somebody truncates it; all of it is read, as whatever is left out would come back with what it took since
//! the server's start. Texts are asked for of what moved and is new.

use fenxi_model::{Rows, catalog::db_statement, statement::Quotes};
use fenxi_wire::client::ClientError;
use rustc_hash::FxHashMap;

use super::{HOME, MARK, plans};
use crate::{
    client::Client,
    number::Number,
    observed::heavy,
    reading::{About, Active, Having},
    sample::cut,
    server::Server,
    statements::{Growing, Grown, Key, OWN, TEXT, Text, found, growing, growth, make_room, tell},
};

/// The view.
pub const VIEW: &str = "performance_schema.events_statements_summary_by_digest";

/// Picoseconds to seconds.
const PS: f64 = 1e-12;
/// How many texts are asked for at a time.
const TEXTS: usize = 200;

/// The first is the number of calls, the second the time.
const COLUMNS: &[Growing] = &[
    growing(&["COUNT_STAR"], db_statement::calls_per_s, 1.0),
    growing(&["SUM_TIMER_WAIT"], db_statement::time, PS),
    growing(&["SUM_LOCK_TIME"], db_statement::lock_time, PS),
    growing(&["SUM_CPU_TIME"], db_statement::cpu, PS),
    Growing { names: &["SUM_ERRORS"], place: db_statement::errors, factor: 1.0, needs: None, is_count: true },
    growing(&["SUM_ROWS_SENT + SUM_ROWS_AFFECTED"], db_statement::rows_per_s, 1.0),
    growing(&["SUM_ROWS_EXAMINED"], db_statement::rows_examined_per_s, 1.0),
    growing(&["SUM_CREATED_TMP_TABLES"], db_statement::temp_tables_per_s, 1.0),
    growing(&["SUM_CREATED_TMP_DISK_TABLES"], db_statement::temp_disk_tables_per_s, 1.0),
    growing(&["SUM_SORT_MERGE_PASSES"], db_statement::sort_merge_passes_per_s, 1.0),
    growing(&["SUM_SELECT_SCAN"], db_statement::full_scans_per_s, 1.0),
    growing(&["SUM_NO_INDEX_USED"], db_statement::no_index_per_s, 1.0),
];

/// An entry as it was last seen.
struct Seen {
    /// Since when it counts.
    since: Box<str>,
    values: Vec<Option<Number>>,
}

/// Statements at work.
pub struct Statements {
    sql: String,
    columns: Vec<&'static Growing>,
    texts: FxHashMap<Box<str>, Text>,
    seen: FxHashMap<Box<str>, Seen>,
    has_last: bool,
    /// All texts are asked for, as those that are new are not known yet.
    at_once: bool,
    server: Server,
}

impl Statements {
    /// Of a server that has these columns; None when it lacks the view.
    pub fn of(having: &Having, server: &Server) -> Option<Box<dyn Active>> {
        let found: Vec<_> = found(COLUMNS, VIEW, having).collect();
        if found.get(1).is_none_or(|(_, name)| *name != "SUM_TIMER_WAIT") {
            return None;
        }
        let names: Vec<_> = found.iter().map(|(_, name)| *name).collect();
        // Comments are in no digest: ours are known by the schema that only our sessions are at home in.
        let sql = format!(
            "{MARK} SELECT DIGEST, SCHEMA_NAME, FIRST_SEEN, {} FROM {VIEW} WHERE COUNT_STAR > 0 AND NOT (SCHEMA_NAME <=> '{HOME}')",
            names.join(", ")
        );
        let columns = found.into_iter().map(|(growing, _)| growing).collect();
        Some(Box::new(Statements {
            sql,
            columns,
            texts: FxHashMap::default(),
            seen: FxHashMap::default(),
            has_last: false,
            at_once: server.is_asked_once(),
            server: server.clone(),
        }))
    }

    /// Asks for texts of digests that are new.
    fn learn(&mut self, client: &mut Client, new: &[Box<str>]) -> Result<(), ClientError> {
        make_room(&mut self.texts);
        for some in new.chunks(TEXTS) {
            // They are hexadecimal; whatever else there may be is no digest.
            let list: Vec<_> = some
                .iter()
                .filter(|digest| digest.bytes().all(|byte| byte.is_ascii_hexdigit()))
                .map(|digest| format!("'{digest}'"))
                .collect();
            if list.is_empty() {
                continue;
            }
            self.learn_from(client, &format!("DIGEST IN ({})", list.join(",")))?;
        }
        Ok(())
    }

    fn learn_from(&mut self, client: &mut Client, which: &str) -> Result<(), ClientError> {
        let sql = format!("{MARK} SELECT DIGEST, LEFT(DIGEST_TEXT, {TEXT}) FROM {VIEW} WHERE {which}");
        let texts = &mut self.texts;
        client.each(&sql, &mut |row| {
            if let (Some(digest), Some(text)) = (row.text(0), row.text(1)) {
                texts.entry(digest.into()).or_insert_with(|| normal(text));
            }
        })?;
        Ok(())
    }
}

impl Active for Statements {
    fn name(&self) -> &'static str {
        "statements"
    }

    fn every_s(&self) -> u32 {
        10
    }

    fn only_with(&self) -> Option<&'static str> {
        None
    }

    fn read(&mut self, client: &mut Client, about: &About<'_>, rows: &mut Rows) -> Result<(), ClientError> {
        let mut grown: Vec<Grown> = Vec::new();
        let mut new: Vec<Box<str>> = Vec::new();
        let mut now: FxHashMap<Box<str>, Seen> = FxHashMap::default();
        let mut went_back = 0_u32;
        let Statements { sql, columns, seen, texts, .. } = self;
        client.each_again(sql, &mut |row| {
            // A row of other columns than those that were asked for is none.
            if row.len() != 3 + columns.len() {
                return;
            }
            let (id, database) = (row.text(0).unwrap_or_default(), row.text(1).unwrap_or_default());
            let since = row.text(2).unwrap_or_default();
            let values: Vec<_> = (3..3 + columns.len()).map(|at| row.text(at).and_then(Number::read)).collect();
            let entry = format!("{id}/{database}");
            let last = seen.get(entry.as_str());
            // Whatever began to count anew has done so within the interval.
            let same = last.filter(|last| *last.since == *since && went_on(&values, &last.values));
            went_back += u32::from(last.is_some() && same.is_none());
            // Of the first reading the shares of all that was counted so far.
            if same.is_none_or(|same| same.values != values) {
                if !id.is_empty() && !texts.contains_key(id) {
                    new.push(id.into());
                }
                let key = Key { database: database.to_owned(), ..Key::default() };
                grown.push(Grown { id: id.into(), key, growth: growth(&values, same.map(|same| &*same.values)) });
            }
            now.insert(entry.into(), Seen { since: since.into(), values });
        })?;
        // All of it gone is a table that was truncated, too.
        if went_back > 0 || (now.len() < self.seen.len() / 2) {
            rows.event(about.interval.t, "counter reset", about.server, "statements began to be counted anew");
        }
        self.seen = now;
        let was_first = !std::mem::replace(&mut self.has_last, true);
        new.sort();
        new.dedup();
        if self.at_once {
            self.learn_from(client, "DIGEST IS NOT NULL")?;
        } else {
            self.learn(client, &new)?;
        }
        let dt = about.interval.dt.filter(|dt| *dt > 0.0 && !was_first);
        self.server.observed().read(heavy(&grown, &self.texts, PS, dt.unwrap_or(1.0)));
        if let Some(dt) = dt {
            tell(grown, &self.texts, &self.columns, (about, dt), rows);
        }
        Ok(())
    }

    fn forget(&mut self) {
        self.seen.clear();
        self.has_last = false;
    }
}

/// A digest's text in normal form. What we prepare and execute is our own.
fn normal(text: &str) -> Text {
    let is_own = ["PREPARE", "EXECUTE", "DEALLOCATE PREPARE"].iter().any(|word| {
        text.strip_prefix(word).is_some_and(|rest| rest.trim_start_matches([' ', '`']).starts_with(plans::NAME))
    });
    if is_own {
        return Text { digest: OWN.to_owned(), form: OWN.to_owned() };
    }
    Text::of(&plain(cut(text, TEXT)), Quotes::Backslash, text.len() >= TEXT)
}

/// Whether no counter went back.
fn went_on(now: &[Option<Number>], last: &[Option<Number>]) -> bool {
    now.iter().zip(last).all(|(now, last)| now.zip(*last).is_none_or(|(now, last)| now.since(last).is_some()))
}

/// Functions whose names the server does not quote.
const FUNCTIONS: &[&str] = &["COUNT", "SUM", "MIN", "MAX", "AVG", "NOW", "CAST", "IF", "COALESCE", "CONCAT"];

/// A digest's text as in source code: the server quotes all names, and puts blanks around everything. Where
/// there were blanks around operators is unknown.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut last, mut is_insert) = ("", false);
    for token in text.split(' ').filter(|token| !token.is_empty()) {
        let is_call = FUNCTIONS.contains(&last) || last.ends_with('`') && !is_insert;
        // INSERT INTO is followed by a table with its columns, which is no call.
        is_insert = token == "INTO" || is_insert && !token.starts_with('(');
        let joined = matches!(token, "." | "," | ")" | ";")
            || matches!(last, "" | "." | "(")
            || token.starts_with('(') && is_call;
        if !joined {
            out.push(' ');
        }
        // A list of more than one value.
        out.push_str(
            if token == "..." && last == "(" {
                "?, ..."
            } else if token == "(...)" {
                "(?, ...)"
            } else {
                token
            }
            .trim_matches('`'),
        );
        last = token;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digests_text_is_read_as_it_was_written() {
        for (shown, written) in [
            (
                "SELECT `c` FROM `shop` . `orders` WHERE `id` = ? AND `n` IN ( ... ) ",
                "SELECT c FROM shop.orders WHERE id = 1 AND n IN (1,2)",
            ),
            ("UPDATE `a` SET `n` = ? WHERE `id` = ? ", "update a SET n = 5 WHERE id = 7"),
            ("INSERT INTO `a` ( `b` , `c` ) VALUES (...) ", "INSERT INTO a (b, c) VALUES (1, 'x')"),
            ("SELECT `sleep` (?) ", "SELECT sleep(2)"),
            ("SELECT COUNT ( * ) , `version` ( ) FROM `a` ", "SELECT count(*), version() FROM a"),
        ] {
            let of = |text: &str| Text::of(text, Quotes::Backslash, false).form;
            assert_eq!(of(&plain(shown)), of(written));
        }
    }
}
