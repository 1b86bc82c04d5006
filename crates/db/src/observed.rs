//! Data on statements from samples and readings, for plans: load of each statement, and an execution of it.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::{
    sample::Session,
    statements::{Grown, OWN, Text},
};

/// How many statements are counted by samples.
const KNOWN: usize = 1_000;
/// How many examples are kept, and how long one may be.
const EXAMPLES: (usize, usize) = (500, 16 << 10);

/// Words that statements begin with which have a plan.
const PLANNED: &[&str] = &["select", "with", "insert", "update", "delete", "merge", "replace", "values", "("];

/// Returns true if a statement has a plan.
pub fn is_planned(text: &str) -> bool {
    let text = body(text.trim_start());
    let begins = |word: &&&str| text.get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word));
    PLANNED.iter().any(|word| begins(&word))
}

/// The statement of `PREPARE name (types) AS statement`, as which PostgreSQL knows one that was prepared in SQL.
pub fn body(text: &str) -> &str {
    let is_prepare = text.get(..8).is_some_and(|begin| begin.eq_ignore_ascii_case("prepare "));
    let at = if is_prepare { text.to_ascii_lowercase().find(" as ") } else { None };
    at.map_or(text, |at| &text[at + 4..])
}

/// A statement with the values of one execution. It is kept in memory only.
#[derive(Clone, Debug)]
pub struct Example {
    /// The text.
    pub text: String,
    /// The database in which it was executed.
    pub database: String,
}

/// A statement, and what it takes.
#[derive(Clone, Debug, Default)]
pub struct Heavy {
    /// The server's number of it.
    pub id: String,
    /// Our digest.
    pub digest: String,
    /// Its normal form.
    pub form: String,
    /// Its database.
    pub database: String,
    /// Its user.
    pub user: String,
    /// The mean number of sessions in it.
    pub running: f64,
    /// Time per call, where calls are counted.
    pub mean_ms: Option<f64>,
}

/// Statements as seen by samples and by readings.
#[derive(Debug, Default)]
pub struct Observed {
    /// Executions, by digest.
    pub examples: FxHashMap<String, Example>,
    /// Statements of the latest interval with their cost, until they are taken.
    pub heavy: Option<Vec<Heavy>>,
}

impl Observed {
    /// Keeps a text as the example of its statement, unless there is one: the same example is explained each time, as plans
    /// of different values may differ.
    pub fn keep_example(&mut self, digest: &str, text: &str, database: &str) {
        let has_room = self.examples.len() < EXAMPLES.0 && !self.examples.contains_key(digest);
        if has_room && text.len() < EXAMPLES.1 && digest != OWN && is_planned(text) && !has_placeholder(text) {
            let example = Example { text: text.to_owned(), database: database.to_owned() };
            self.examples.insert(digest.to_owned(), example);
        }
    }

    /// As [`Observed::keep_example`]; the example that there is now.
    pub fn example(&mut self, digest: &str, text: &str, database: &str) -> Option<Example> {
        self.keep_example(digest, text, database);
        self.examples.get(digest).cloned()
    }

    /// Sets the statements of the latest interval with their cost.
    pub fn read(&mut self, heavy: Vec<Heavy>) {
        self.heavy = Some(heavy);
    }
}

/// Whether values are missing in a text: `$1`, or `?`.
fn has_placeholder(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut quote = None;
    bytes.iter().enumerate().any(|(at, byte)| {
        match (quote, byte) {
            (None, b'\'' | b'"' | b'`') => quote = Some(*byte),
            (Some(open), byte) if open == *byte => quote = None,
            (None, b'?') => return true,
            (None, b'$') => return bytes.get(at + 1).is_some_and(u8::is_ascii_digit),
            _ => {}
        }
        false
    })
}

/// Samples in which sessions executed a statement.
#[derive(Clone, Debug)]
pub struct Sampled {
    /// The statement.
    pub statement: Arc<Text>,
    /// Database of the session that was seen first.
    pub database: String,
    /// Its user.
    pub user: String,
    /// How often.
    pub samples: u32,
}

/// Statements by digest, as samples see them.
pub type BySample = FxHashMap<String, Sampled>;

/// Adds a session at work.
pub fn add_sampled(all: &mut BySample, session: &Session) {
    let Some(statement) = &session.statement else { return };
    if let Some(known) = all.get_mut(&statement.digest) {
        known.samples += 1;
    } else if all.len() < KNOWN && is_planned(&statement.form) {
        let (database, user) = (session.database.clone(), session.user.clone());
        let sampled = Sampled { statement: Arc::clone(statement), database, user, samples: 1 };
        all.insert(statement.digest.clone(), sampled);
    }
}

/// Statements by the time that they took, for plans. `s`: seconds in a unit of the second column, `dt`: of the interval.
pub fn heavy(grown: &[Grown], texts: &FxHashMap<Box<str>, Text>, s: f64, dt: f64) -> Vec<Heavy> {
    let mut sums: FxHashMap<(&str, &str), (f64, f64, &Grown, &Text)> = FxHashMap::default();
    for one in grown {
        let Some(text) = texts.get(&one.id).filter(|text| text.digest != OWN) else { continue };
        let (calls, time) =
            (one.growth.first().copied().unwrap_or_default(), one.growth.get(1).copied().unwrap_or_default());
        let sum = sums.entry((&one.key.database, &text.digest)).or_insert((0.0, 0.0, one, text));
        sum.0 += calls;
        sum.1 += time;
        if time > sum.2.growth.get(1).copied().unwrap_or_default() {
            sum.2 = one;
        }
    }
    let statement =
        |((database, digest), (calls, time, most, text)): ((&str, &str), (f64, f64, &Grown, &Text))| Heavy {
            id: most.id.to_string(),
            digest: digest.to_owned(),
            form: text.form.clone(),
            database: database.to_owned(),
            user: most.key.user.clone(),
            running: time * s / dt,
            mean_ms: (calls > 0.0).then(|| time * s * 1e3 / calls),
        };
    sums.into_iter().map(statement).collect()
}

#[cfg(test)]
mod tests;
