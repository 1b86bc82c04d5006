//! Plans of the statements that matter: whose plan is looked at and when, and what is reported of it.
//!
//! A plan is asked for when a statement that takes a share of the time is new, or its time per call has moved: a plan that
//! changed and made no difference is found later, or never, and costs nothing. EXPLAIN executes nothing. A change is reported only
//! where both plans were asked for in the same way: of any values, or of the same example.

use std::fmt::Write as _;

use fenxi_model::{
    Micros, Rows,
    catalog::db_plan,
    plan::{Plan, difference},
};
use fenxi_wire::client::ClientError;
use rustc_hash::FxHashMap;

use crate::{
    gather::Heard,
    observed::{BySample, Example, Heavy, Sampled, is_planned},
    reading::About,
    sample::some,
    server::Server,
    snapshot::Answer,
    statements::OWN,
};

/// The share of all statements' time from which on a statement matters, and the mean number of sessions in it.
const SHARE: f64 = 0.02;
const RUNNING: f64 = 0.001;
/// How many statements are looked at at a time.
const AT_A_TIME: usize = 20;
/// Time per call that moved by this factor may come from another plan. At the end, when nothing is asked later, all are looked at.
const MOVED: f64 = 1.5;
/// As above, of the sessions in a statement, where no one counts calls.
const MOVED_SESSIONS: f64 = 2.0;
/// A plan is looked at again after so many seconds, whatever happened, and more often where no one counts calls.
const AGAIN_S: f64 = 300.0;
const AGAIN_BLIND_S: f64 = 60.0;
/// Seconds over which samples are gathered where they are all that is known of statements.
const SAMPLED_S: f64 = 10.0;
const SAMPLED_FIRST_S: f64 = 0.9;
/// How many statements are remembered.
const KNOWN: usize = 1_000;
/// A statement whose plan is to be looked at.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The statement.
    pub heavy: Heavy,
    /// An execution of it.
    pub example: Option<Example>,
}

impl Wanted {
    /// The name under which snapshots keep a plan of it.
    fn name(&self, source: &str) -> String {
        format!("plan {source} {}", self.heavy.digest)
    }
}

/// A plan as a server printed it, without values.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// Whose it is.
    pub source: &'static str,
    /// The plan.
    pub plan: Plan,
}

/// A plan for any values.
pub const GENERIC: &str = "generic";
/// A plan for the values of an execution.
pub const EXAMPLE: &str = "example";

/// Known state of a statement's plan.
#[derive(Debug)]
struct Known {
    mean_ms: Option<f64>,
    running: f64,
    looked: Micros,
    /// When it last changed.
    changed: Option<Micros>,
    /// Shapes of its plans, by whose they are.
    last: Vec<(&'static str, String)>,
    /// Its example was tried.
    has_tried: bool,
}

impl Known {
    fn is_due(&self, heavy: &Heavy, about: &About<'_>) -> bool {
        let since_s = (about.interval.t.0 - self.looked.0) as f64 / 1e6;
        let moved = |now: f64, then: f64, by: f64| now > then * by || then > now * by;
        let has_moved = match (heavy.mean_ms, self.mean_ms) {
            (Some(now), Some(then)) => since_s >= AGAIN_S || moved(now, then, MOVED),
            // Calls are counted from now on.
            (Some(_), None) => true,
            _ => since_s >= AGAIN_BLIND_S || moved(heavy.running, self.running, MOVED_SESSIONS),
        };
        about.is_last || has_moved
    }
}

/// Plans of a server.
#[derive(Debug, Default)]
pub struct Plans {
    known: FxHashMap<(String, String), Known>,
    sampled: BySample,
    samples: u32,
    sampled_s: f64,
    has_looked: bool,
    /// Somebody counts statements.
    is_counted: bool,
    /// Samples were looked at.
    has_sampled: bool,
    /// Why a plan is not seen, where that was reported.
    has_noted: bool,
}

impl Plans {
    /// The statements whose plans are to be looked at now, of one database after the other.
    pub fn wanted(&mut self, server: &Server, about: &About<'_>, heard: &Heard) -> Vec<Wanted> {
        let mut told = server.observed();
        // Where statements are counted, samples come first only: they know executions before counters moved.
        let counted = told.heavy.take();
        self.is_counted |= counted.is_some();
        let of_samples = || (!self.is_counted || !self.has_sampled).then(|| self.by_samples(about, heard)).flatten();
        let Some(mut heavy) = counted.or_else(of_samples) else { return Vec::new() };
        heavy.retain(|heavy| heavy.digest != OWN && is_planned(&heavy.form) && !heavy.database.is_empty());
        heavy.sort_by(|a, b| b.running.total_cmp(&a.running).then_with(|| a.digest.cmp(&b.digest)));
        let total: f64 = heavy.iter().map(|heavy| heavy.running).sum();
        let is_first = !std::mem::replace(&mut self.has_looked, true);
        let matters = |heavy: &Heavy| heavy.running >= SHARE * total && (is_first || heavy.running >= RUNNING);
        let (known, is_saved) = (&self.known, server.is_saved());
        let is_due = |heavy: &Heavy| {
            let known = known.get(&(heavy.database.clone(), heavy.digest.clone()));
            let has_example = told.examples.contains_key(&heavy.digest);
            is_saved || known.is_none_or(|known| known.is_due(heavy, about) || (has_example && !known.has_tried))
        };
        let all = heavy.into_iter().filter(|heavy| matters(heavy) && is_due(heavy)).take(AT_A_TIME);
        let example = |heavy: &Heavy| told.examples.get(&heavy.digest).cloned();
        let mut all: Vec<_> = all.map(|heavy| Wanted { example: example(&heavy), heavy }).collect();
        all.sort_by(|a, b| (&a.heavy.database, &a.heavy.user).cmp(&(&b.heavy.database, &b.heavy.user)));
        all
    }

    /// Statements and their load by samples, where statements are not counted; None until enough was sampled.
    fn by_samples(&mut self, about: &About<'_>, heard: &Heard) -> Option<Vec<Heavy>> {
        self.samples += heard.samples;
        self.sampled_s += about.interval.dt.unwrap_or_default();
        for (digest, sampled) in &heard.statements {
            let known = self.sampled.entry(digest.clone()).or_insert_with(|| Sampled { samples: 0, ..sampled.clone() });
            known.samples += sampled.samples;
        }
        let enough_s = if self.has_sampled { SAMPLED_S } else { SAMPLED_FIRST_S };
        if self.sampled.is_empty() || (self.sampled_s < enough_s && !about.is_last) {
            return None;
        }
        self.has_sampled = true;
        self.sampled_s = 0.0;
        let samples = f64::from(std::mem::take(&mut self.samples));
        let heavy = |(digest, sampled): (String, Sampled)| Heavy {
            digest,
            form: sampled.statement.form.clone(),
            database: sampled.database,
            user: sampled.user,
            running: f64::from(sampled.samples) / samples,
            ..Heavy::default()
        };
        Some(std::mem::take(&mut self.sampled).into_iter().map(heavy).collect())
    }

    /// Reports a statement's plan when it is the first one or another one than before, or why it is not seen.
    pub fn tell(&mut self, wanted: &Wanted, found: Result<Explained, String>, about: &About<'_>, rows: &mut Rows) {
        if self.known.len() > KNOWN {
            self.known.clear();
        }
        let heavy = &wanted.heavy;
        let known = self.known.entry((heavy.database.clone(), heavy.digest.clone())).or_insert(Known {
            mean_ms: None,
            running: 0.0,
            looked: about.interval.t,
            changed: None,
            last: Vec::new(),
            has_tried: false,
        });
        (known.mean_ms, known.running, known.looked) = (heavy.mean_ms, heavy.running, about.interval.t);
        known.has_tried |= wanted.example.is_some();
        let Explained { source, plan } = match found {
            Ok(explained) => explained,
            Err(why) => {
                if !std::mem::replace(&mut self.has_noted, true) {
                    let message =
                        format!("plans of some statements are not seen, as of `{}`: {why}", short(&heavy.form));
                    rows.note(about.server, None, &message);
                }
                return;
            }
        };
        let shape = plan.shape();
        let before = known.last.iter().position(|(of, _)| *of == source).map(|at| known.last.swap_remove(at).1);
        known.last.push((source, shape.clone()));
        let change = before.as_ref().and_then(|before| difference(before, &shape));
        if before.is_some() && change.is_none() {
            return;
        }
        let replaced = before.as_ref().map(|before| fenxi_model::statement::digest(before));
        // Two plans of one statement may change at once.
        if let Some(change) = &change
            && known.changed.replace(about.interval.t) != Some(about.interval.t)
        {
            let message = format!("{change}: {} ({})", short(&heavy.form), heavy.digest);
            rows.event(about.interval.t, "plan changed", about.server, &message);
        }
        rows.row(&db_plan::TABLE, about.interval.t, None)
            .str(db_plan::server, about.server)
            .str(db_plan::database, some(&heavy.database))
            .str(db_plan::digest, heavy.digest.as_str())
            .str(db_plan::plan, plan.hash().as_str())
            .str(db_plan::source, source)
            .str(db_plan::statement, heavy.form.as_str())
            .text(db_plan::shape, shape.as_str())
            .text(db_plan::tree, plan.tree().as_str())
            .str(db_plan::replaced, replaced.as_deref())
            .text(db_plan::change, change.as_deref())
            .f64(db_plan::cost, plan.cost())
            .f64(db_plan::estimated_rows, plan.rows());
    }
}

/// Errors whose messages name a table or a user, and no value.
const NAMING: (&[&str], &[u16]) = (&["42501", "42P01"], &[1044, 1142, 1143, 1146]);

/// Why a server does not explain a statement, without the statement.
pub fn why(error: &ClientError) -> String {
    match error.server() {
        Some(server) if NAMING.0.contains(&server.sqlstate()) || NAMING.1.contains(&server.number) => {
            server.message.clone()
        }
        Some(server) => format!("the server refuses to explain it (SQLSTATE {}, {})", server.sqlstate(), server.number),
        None => "the connection was lost".to_owned(),
    }
}

/// The beginning of a statement.
fn short(form: &str) -> String {
    let mut text = form[..form.floor_char_boundary(120)].to_owned();
    if text.len() < form.len() {
        let _ = write!(text, " …");
    }
    text
}

/// The plans that a snapshot kept; None where a server answers. `read` makes a plan of its text.
pub fn kept(server: &Server, wanted: &Wanted, read: fn(&str) -> Option<Plan>) -> Option<Vec<Explained>> {
    let mut all = Vec::new();
    for source in [EXAMPLE, GENERIC] {
        let rows = server.saved_answer(&wanted.heavy.database, &wanted.name(source))?;
        let cells = rows.as_ref().and_then(|rows| rows.first());
        let cell = |at: usize| cells.and_then(|cells| cells.get(at)).and_then(Option::as_deref);
        let Some(mut plan) = cell(0).and_then(read) else { continue };
        if let Some(cost) = cell(1).and_then(|cost| cost.parse().ok()) {
            plan.set_cost(Some(cost));
        }
        all.push(Explained { source, plan });
    }
    Some(all)
}

/// Keeps the text of a plan, in which no value is left, for a snapshot.
pub fn keep(server: &Server, wanted: &Wanted, source: &str, text: &str, cost: Option<f64>) {
    let row = vec![Some(text.to_owned()), cost.map(|cost| cost.to_string())];
    let (database, sql) = (wanted.heavy.database.clone(), wanted.name(source));
    server.keep_answer(Answer { database, sql, rows: vec![row], ..Answer::default() });
}

#[cfg(test)]
mod tests;
