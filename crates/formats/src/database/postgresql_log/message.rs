//! Contents of the server's messages.

use std::collections::BTreeMap;

use fenxi_model::{
    Micros,
    catalog::{db, db_plan},
    plan::{Plan, difference},
    statement::{Quotes, digest, hidden},
};
use rustc_hash::FxHashMap;

use super::{
    super::statements::{Execution, Statements},
    Entry, FORMAT,
    words::{Read, english, english_word, is_deadlock, is_foreign, without_quoted},
};
use crate::{Out, generic::labels::Labels, number};

/// Sessions whose last statement waits for its duration.
const MAX_WAITING: usize = 1 << 12;
/// Databases that are distinguished.
const MAX_DATABASES: usize = 1 << 12;
/// Statements whose plans are followed.
const MAX_PLANS: usize = 1 << 12;
/// The longest text of an event.
const MAX_EVENT: usize = 2000;

/// Beginnings of messages of the server about itself, and the kind of event that they are.
const KINDS: &[(&str, &str)] = &[
    ("checkpoint ", "checkpoint"),
    ("restartpoint ", "checkpoint"),
    ("connection ", "connection"),
    ("disconnection: ", "connection"),
    ("server process (PID ", "crash"),
    ("database system was interrupted", "crash"),
    ("database system was not properly shut down", "crash"),
    ("database system ", "server"),
    ("starting PostgreSQL", "server"),
    ("received ", "server"),
    ("shutting down", "server"),
    ("aborting any active", "server"),
    ("terminating any other", "crash"),
    ("all server processes terminated", "crash"),
    ("parameter \"", "setting"),
    ("AUDIT: ", "audit"),
];

/// Figures for the times of parts of an execution.
const PARTS: [&str; 3] = ["parse_time", "bind_time", "fetch_time"];

/// Gathers the log's messages.
pub(super) struct Log {
    statements: Statements,
    /// Those of auto_explain, which repeat others where these are logged.
    explained: Statements,
    /// Statements logged before their durations, by process.
    waiting: FxHashMap<i64, Entry>,
    /// Deadlocks, and bytes of temporary files, by database.
    databases: BTreeMap<String, (f64, Option<f64>)>,
    /// Shapes of the latest plans, by database and digest.
    plans: FxHashMap<(String, String), String>,
}

impl Log {
    pub(super) fn new() -> Log {
        Log {
            statements: Statements::new(FORMAT.name, Quotes::Standard),
            explained: Statements::new(FORMAT.name, Quotes::Standard),
            waiting: FxHashMap::default(),
            databases: BTreeMap::new(),
            plans: FxHashMap::default(),
        }
    }

    /// Takes one report.
    pub(super) fn entry(&mut self, mut entry: Entry, out: &mut Out<'_>) {
        let Some(t) = entry.t else { return };
        self.statements.cover(t);
        self.explained.cover(t);
        if let Some(severity) = english_word(&entry.severity) {
            severity.clone_into(&mut entry.severity);
            entry.foreign = true;
        }
        match entry.severity.as_str() {
            "ERROR" | "FATAL" | "PANIC" => self.error(t, &entry, out),
            "LOG" | "INFO" | "NOTICE" | "WARNING" => {
                let message = std::mem::take(&mut entry.message);
                match english(&message) {
                    Read::Same => self.log(t, entry, &message, out),
                    Read::English(message) => self.log(t, entry, &message, out),
                    // Its words may be values of a statement.
                    Read::Unclear => out.note(entry.line, "a duration in words that are not known"),
                }
            }
            severity if severity.starts_with("DEBUG") => event(t, "log", &entry, &entry.message, out),
            _ => out.unknown(entry.line, &entry.severity, "no severity that is known"),
        }
    }

    fn error(&mut self, t: Micros, entry: &Entry, out: &mut Out<'_>) {
        if !entry.statement.is_empty() {
            self.statements.add(&Execution { errors: Some(1.0), ..execution(t, entry, &entry.statement) });
            // It failed: no duration will follow.
            if let Some(pid) = entry.pid {
                self.waiting.remove(&pid);
            }
        }
        let deadlock = is_deadlock(&entry.message);
        if deadlock && let Some((deadlocks, _)) = self.database(entry) {
            *deadlocks += 1.0;
        }
        let state = if entry.sqlstate.is_empty() { String::new() } else { format!(" {}", entry.sqlstate) };
        let message = format!("{}{state}: {}", entry.severity, entry.message);
        event(t, if deadlock { "deadlock" } else { "error" }, entry, &message, out);
    }

    fn database(&mut self, entry: &Entry) -> Option<&mut (f64, Option<f64>)> {
        if self.databases.len() >= MAX_DATABASES && !self.databases.contains_key(&entry.database) {
            return None;
        }
        Some(self.databases.entry(entry.database.clone()).or_default())
    }

    fn log(&mut self, t: Micros, entry: Entry, message: &str, out: &mut Out<'_>) {
        if let Some(rest) = message.strip_prefix("duration: ") {
            self.duration(t, entry, rest, out);
        } else if let Some(text) = statement(message) {
            self.begun(t, entry, text);
        } else if let Some(rest) = message.strip_prefix("temporary file: ") {
            self.temporary(t, &entry, rest, out);
        } else if message.starts_with("automatic ") && message.contains(" of table \"") {
            vacuum(t, message, out);
        } else if let Some(rest) = message.strip_prefix("process ").filter(|rest| is_wait(rest)) {
            let acquired = rest.split(" after ").nth(1).filter(|_| rest.contains(" acquired "));
            if let Some(ms) = acquired.and_then(|rest| number(rest.strip_suffix(" ms")?)) {
                let labels = Labels::of("database", &entry.database);
                out.metric(t, None, "postgresql-log.lock_wait", labels.text(), ms, "ms");
            }
            event(t, "lock wait", &entry, message, out);
        } else {
            let kind = KINDS.iter().find(|(begin, _)| message.starts_with(begin)).map_or("log", |(_, kind)| *kind);
            if kind == "checkpoint" {
                checkpoint(t, message, out);
            }
            let kind = if entry.severity == "WARNING" { "warning" } else { kind };
            event(t, kind, &entry, message, out);
        }
    }

    /// A statement that is logged when it begins. Its duration may follow, or not.
    fn begun(&mut self, t: Micros, mut entry: Entry, text: &str) {
        text.clone_into(&mut entry.message);
        let Some(pid) = entry.pid else {
            self.statements.add(&Execution { calls: 1.0, ..execution(t, &entry, text) });
            return;
        };
        if self.waiting.len() >= MAX_WAITING {
            self.settle();
        }
        if let Some(before) = self.waiting.insert(pid, entry) {
            self.untimed(&before);
        }
    }

    fn untimed(&mut self, entry: &Entry) {
        if let Some(t) = entry.t {
            self.statements.add(&Execution { calls: 1.0, ..execution(t, entry, &entry.message) });
        }
    }

    /// Adds statements whose duration did not come.
    fn settle(&mut self) {
        let mut left: Vec<_> = self.waiting.drain().collect();
        left.sort_unstable_by_key(|(_, entry)| entry.line);
        left.iter().for_each(|(_, entry)| self.untimed(entry));
    }

    /// `50.596 ms  statement: select …`, `0.1 ms  bind P_0: …`, `8.3 ms  plan: …`, `0.4 ms`.
    fn duration(&mut self, t: Micros, entry: Entry, rest: &str, out: &mut Out<'_>) {
        let (value, rest) = rest.split_once(" ms").unwrap_or((rest, ""));
        let Some(ms) = number(value) else {
            out.unknown(entry.line, rest, "no duration");
            return;
        };
        let rest = rest.trim_start();
        if let Some(plan) = rest.strip_prefix("plan:") {
            return self.plan(t, &entry, ms, plan, out);
        }
        if rest.is_empty() {
            let begun = entry.pid.and_then(|pid| self.waiting.remove(&pid));
            let text = begun.as_ref().map_or("", |begun| begun.message.as_str());
            self.statements.add(&Execution { ms: Some(ms), calls: 1.0, ..execution(t, &entry, text) });
            return;
        }
        let (what, text) = rest.split_once(": ").unwrap_or((rest, ""));
        let part =
            ["parse ", "bind ", "execute fetch from "].iter().zip(PARTS).find(|(part, _)| what.starts_with(**part));
        let one = execution(t, &entry, text);
        match part {
            Some((_, name)) => self.statements.add(&Execution { figures: &[(name, ms / 1000.0)], ..one }),
            None => self.statements.add(&Execution { ms: Some(ms), calls: 1.0, ..one }),
        }
    }

    /// A plan of auto_explain: the query's text, then the nodes, as text or as JSON.
    fn plan(&mut self, t: Micros, entry: &Entry, ms: f64, plan: &str, out: &mut Out<'_>) {
        let plan = plan.trim_start();
        let (query, nodes) = match plan.strip_prefix("Query Text: ") {
            Some(rest) => {
                let end =
                    rest.match_indices('\n').map(|(at, _)| at).find(|at| is_node(rest.get(at + 1..).unwrap_or("")));
                rest.split_at(end.unwrap_or(rest.len()))
            }
            None => (plan.split("\"Query Text\": ").nth(1).and_then(|rest| rest.lines().next()).unwrap_or(""), ""),
        };
        // In JSON the text is a separate string.
        let query = if nodes.is_empty() && query.starts_with('"') {
            serde_json::from_str::<String>(query.trim_end_matches(',')).unwrap_or_default()
        } else {
            query.to_owned()
        };
        self.explained.add(&Execution { ms: Some(ms), calls: 1.0, ..execution(t, entry, &query) });
        let form = hidden(&query, Quotes::Standard);
        self.shape(t, entry, (ms, &form, nodes), out);
        // Conditions hold values; nodes do not.
        let nodes: Vec<&str> = nodes.lines().filter(|line| is_node(line)).map(str::trim).collect();
        let message = format!("{ms:.3} ms: {form}\n{}", nodes.join("\n"));
        out.event(t, "plan", subject(entry), &shorter(message.trim_end()));
    }

    /// A row for the first plan of a statement, and for each that replaces another.
    fn shape(&mut self, t: Micros, entry: &Entry, (ms, form, nodes): (f64, &str, &str), out: &mut Out<'_>) {
        let Some(plan) = Plan::of_postgres(nodes) else { return };
        if self.plans.len() >= MAX_PLANS {
            return;
        }
        let (shape, digest_of_form) = (plan.shape(), digest(form));
        let before = self.plans.insert((entry.database.clone(), digest_of_form.clone()), shape.clone());
        let change = before.as_ref().and_then(|before| difference(before, &shape));
        if before.is_some() && change.is_none() {
            return;
        }
        out.row(&db_plan::TABLE, t, None)
            .str(db_plan::database, Some(entry.database.as_str()).filter(|name| !name.is_empty()))
            .str(db_plan::digest, digest_of_form.as_str())
            .str(db_plan::plan, plan.hash().as_str())
            .str(db_plan::source, "executed")
            .str(db_plan::statement, form)
            .text(db_plan::shape, shape.as_str())
            .text(db_plan::tree, plan.tree().as_str())
            .str(db_plan::replaced, before.as_deref().map(digest).as_deref())
            .text(db_plan::change, change.as_deref())
            .f64(db_plan::cost, plan.cost())
            .f64(db_plan::estimated_rows, plan.rows())
            .f64(db_plan::worst_estimate, plan.error())
            .f64(db_plan::elapsed_ms, ms);
        if let Some(change) = change {
            out.event(t, "plan changed", subject(entry), &shorter(&format!("{change}: {form}")));
        }
    }

    /// `path "base/pgsql_tmp/pgsql_tmp29719.0", size 28000`.
    fn temporary(&mut self, t: Micros, entry: &Entry, rest: &str, out: &mut Out<'_>) {
        let Some(bytes) = rest.rsplit_once("size ").and_then(|(_, size)| number(size.trim())) else {
            out.unknown(entry.line, rest, "no size of a temporary file");
            return;
        };
        if let Some((_, sum)) = self.database(entry) {
            *sum = Some(sum.unwrap_or(0.0) + bytes);
        }
        event(t, "temporary file", entry, &format!("{bytes} bytes"), out);
    }

    /// Writes what was gathered.
    pub(super) fn end(mut self, out: &mut Out<'_>) {
        self.settle();
        let (t, dt) = self.statements.span();
        for (name, (deadlocks, temporary)) in &self.databases {
            let database = Some(name.as_str()).filter(|name| !name.is_empty());
            if *deadlocks > 0.0 {
                out.row(&db::TABLE, t, dt).str(db::database, database).f64(db::deadlocks, *deadlocks);
            }
            if let Some(bytes) = temporary {
                let labels = Labels::of("database", name);
                out.metric(t, dt, "postgresql-log.temporary_file_bytes", labels.text(), *bytes, "B");
            }
        }
        // An error alone is no duration.
        let timed = self.statements.is_timed();
        if !timed && self.explained.is_timed() {
            self.explained.flush(out);
        }
        self.statements.flush(out);
    }
}

fn execution<'a>(t: Micros, entry: &'a Entry, text: &'a str) -> Execution<'a> {
    Execution {
        t: Some(t),
        database: &entry.database,
        user: &entry.user,
        text,
        errors: Some(0.0),
        ..Execution::default()
    }
}

/// `statement: …` and `execute NAME: …` without a duration.
fn statement(message: &str) -> Option<&str> {
    if let Some(text) = message.strip_prefix("statement: ") {
        return Some(text);
    }
    let (name, text) = message.strip_prefix("execute ")?.split_once(": ")?;
    (!name.contains(' ')).then_some(text)
}

fn is_wait(rest: &str) -> bool {
    [" still waiting for ", " acquired ", " detected deadlock while ", " avoided deadlock for "]
        .iter()
        .any(|w| rest.contains(w))
}

/// A line of a plan with a node, not with a property of one.
fn is_node(line: &str) -> bool {
    let first = line.lines().next().unwrap_or("");
    first.contains("  (cost=") || first.contains(" (actual ")
}

fn subject(entry: &Entry) -> &str {
    if entry.database.is_empty() { "postgresql" } else { &entry.database }
}

/// An event with the statement's form, and without values in its text.
fn event(t: Micros, kind: &str, entry: &Entry, message: &str, out: &mut Out<'_>) {
    let running = entry.detail.strip_prefix("Failed process was running: ").unwrap_or(&entry.statement);
    let foreign = entry.foreign || is_foreign(message);
    let mut message = if foreign { without_quoted(message) } else { without_values(message) };
    if !running.is_empty() {
        message.push_str("; statement: ");
        message.push_str(&hidden(running, Quotes::Standard));
    }
    out.event(t, kind, subject(entry), &shorter(&message));
}

fn shorter(message: &str) -> String {
    if message.len() <= MAX_EVENT {
        return message.to_owned();
    }
    let cut: String = message.chars().take(MAX_EVENT).collect();
    format!("{cut}…")
}

/// A message without what it repeats of a statement: texts in single quotes, and what is behind `near` or an invalid input.
fn without_values(message: &str) -> String {
    let mut text = String::with_capacity(message.len());
    for (i, part) in message.split('\'').enumerate() {
        match i {
            0 => {}
            _ if i % 2 == 1 => text.push_str("'?'"),
            _ => {}
        }
        if i % 2 == 0 {
            text.push_str(part);
        }
    }
    let at = text.find("at or near \"").map(|at| at + 11).or_else(|| {
        let invalid = text.contains("invalid ") || text.contains("malformed ") || text.contains("out of range");
        text.find(": \"").filter(|_| invalid).map(|at| at + 2)
    });
    if let Some(at) = at {
        let end = text.rfind('"').filter(|end| *end > at).unwrap_or(text.len().saturating_sub(1));
        text.replace_range(at..(end + 1).min(text.len()), "\"?\"");
    }
    if let Some(audit) = text.strip_prefix("AUDIT: ") {
        // The statement is the eighth value.
        let kept: Vec<&str> = audit.splitn(8, ',').take(7).collect();
        return format!("AUDIT: {}", kept.join(","));
    }
    text
}

/// The figures of a checkpoint that ended.
fn checkpoint(t: Micros, message: &str, out: &mut Out<'_>) {
    if !message.contains(" complete: ") {
        return;
    }
    let seconds = |name: &str| message.split(name).nth(1).and_then(|rest| number(rest.split(' ').next()?));
    let total = seconds(" total=");
    let mut set = |name: &str, value: Option<f64>, unit: &str| {
        if let Some(value) = value {
            out.metric(t, total.filter(|dt| *dt > 0.0), &format!("postgresql-log.checkpoint_{name}"), "", value, unit);
        }
    };
    set("buffers", seconds(": wrote "), "");
    set("write", seconds("write="), "s");
    set("sync", seconds(" sync="), "s");
    set("total", total, "s");
    set("sync_longest", seconds("longest="), "s");
    set("distance", seconds("distance=").map(|kilobytes| kilobytes * 1024.0), "B");
}

/// `automatic vacuum of table "shop.public.item": index scans: 1`, with figures on further lines.
fn vacuum(t: Micros, message: &str, out: &mut Out<'_>) {
    let table = message.split('"').nth(1).unwrap_or("");
    let first = message.lines().next().unwrap_or("");
    let what = if first.contains("analyze") { "analyze" } else { "vacuum" };
    let mut labels = Labels::of("relation", table);
    labels.push("operation", what);
    let elapsed = message
        .rsplit("elapsed")
        .next()
        .and_then(|rest| number(rest.trim_start_matches(':').split_ascii_whitespace().next()?));
    if let Some(elapsed) = elapsed.filter(|_| message.contains("elapsed")) {
        out.metric(t, Some(elapsed).filter(|dt| *dt > 0.0), "postgresql-log.autovacuum", labels.text(), elapsed, "s");
    }
    let removed = message.split("tuples: ").nth(1).and_then(|rest| number(rest.split(' ').next()?));
    if let Some(removed) = removed {
        out.metric(t, None, "postgresql-log.autovacuum_rows_removed", labels.text(), removed, "");
    }
    let lines: Vec<&str> = message.lines().map(str::trim).collect();
    out.event(t, "autovacuum", table, &shorter(&lines.join("; ")));
}
