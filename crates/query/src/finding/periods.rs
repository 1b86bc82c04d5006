//! Findings over two periods: rules over the change of all series from one period to another. The changes are computed by the caller and
//! come as rows, so that a rule is SQL as any other is.

use super::{Finding, Found, Occurrence, findings, order};
use crate::{
    Engine, QueryError, Scope, Value,
    answers::{Asked, Author, Dialect},
};

/// Between rows, and between the fields of a row: no text of a recording has them where it is written.
const ROW: char = '\u{1e}';
const FIELD: char = '\u{1f}';
/// The statement with the meanings of series.
const NAMING: &str = include_str!("means.sql");
/// Meanings of series. Each is two columns of `moves`: its change, and NAME_cost, its change per transaction.
pub const MEANS: [&str; 35] = [
    "throughput",
    "statements",
    "latency",
    "sessions",
    "connects",
    "active",
    "locks",
    "scans",
    "spills",
    "reads",
    "inserted",
    "changed",
    "redo",
    "log",
    "commit_flushes",
    "misses",
    "own_writes",
    "sent",
    "received",
    "flushes",
    "ddl",
    "cpu_use",
    "kernel",
    "stolen",
    "iowait",
    "queue",
    "disk_busy",
    "disk_writes",
    "disk_reads",
    "retransmits",
    "round_trip",
    "dump",
    "own_cpu",
    "other_cpu",
    "other_io",
];

/// Columns of `moves` that are made of several meanings: the change of the throughput, 0 where it is unknown; the largest rise of what a
/// database does for its clients, whole and per transaction; and how much a rise matters: a warning where work is slower, or it is unknown.
/// Constant work costs more per transaction where these become fewer: without its own rise it counts for little.
const WORK: &str = "coalesce(throughput, 0) AS work, greatest(reads, scans, inserted, changed, 0) AS own_work, \
     greatest(CASE WHEN reads > 0.1 THEN reads_cost ELSE least(reads_cost, 0.4) END, CASE WHEN scans > 0.1 THEN scans_cost ELSE least(scans_cost, 0.4) END, \
     CASE WHEN inserted > 0.1 THEN inserted_cost ELSE least(inserted_cost, 0.4) END, CASE WHEN changed > 0.1 THEN changed_cost ELSE least(changed_cost, 0.4) END, 0) AS own_cost, \
     CASE WHEN throughput <= -0.05 OR latency >= 0.3 OR throughput IS NULL AND latency IS NULL THEN 'warning' ELSE 'info' END AS severity";

/// Columns of `moves` with numbers of sessions and tasks in both periods: those that are active, those among them that wait for locks, and those that
/// are runnable. Of `active` the series that stands for it counts, so that all are of one server.
const NUMBERS: [(&str, &str); 3] = [
    ("active", "means = 'active' AND is_first = 1"),
    ("waiting", "means = 'locks' AND (column_name = 'waiting_sessions' OR key ILIKE '%lock_current_waits%')"),
    ("queue", "means = 'queue' AND table_name <> 'pressure' AND is_first = 1"),
];

/// Derived from these: sessions that work and wait for no lock, and their change. Transactions are held by locks where
/// nearly all active sessions wait for one, more than before, half as many as before or fewer work, and neither CPUs
/// nor disk are used more. A server is idle where hardly a session works, and CPUs and disk have a third of their work:
/// what it waits for is not in it. More CPU time is its own where its processes use it; where they are not known, where
/// about as many sessions more work as tasks more are runnable. Each part reads the columns of those before it.
const EXECUTING: [&str; 4] = [
    "CASE WHEN active_inside IS NOT NULL THEN greatest(active_inside - coalesce(waiting_inside, 0), 0) END AS executing_inside, \
         CASE WHEN active_rest IS NOT NULL THEN greatest(active_rest - coalesce(waiting_rest, 0), 0) END AS executing_rest",
    "ln((executing_inside + 0.5) / (executing_rest + 0.5)) / ln(2) AS executing",
    "coalesce((executing_inside <= 1.2 OR executing_inside <= 0.15 * executing_rest) AND executing <= -1 AND cpu_use <= -1.5 \
         AND coalesce(iowait, -1) <= -0.5 AND greatest(reads, scans, inserted, changed, 0) <= 0, false) AS is_idle, \
         coalesce(own_cpu >= 0.5, executing >= 0.5 AND coalesce(executing_inside - executing_rest >= 0.85 * (queue_inside - queue_rest), true), false) AS is_own_cpu",
    "coalesce(NOT is_idle AND waiting_inside >= 0.8 * active_inside AND waiting_inside >= 1.1 * waiting_rest AND locks > 0.1 AND executing <= -1 \
         AND coalesce(cpu_use, 0) <= 0 AND coalesce(misses, 0) <= 0.3, false) AS is_lock_bound",
];

/// Meaning of a series.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meaning {
    /// One of [`MEANS`]; None where it is not known.
    pub means: Option<String>,
    /// Of several that mean the same, the smallest is the best.
    pub place: i64,
    /// Group of series that measure the same thing.
    pub thing: String,
}

/// Change of a series from one period to another: a row of the table `change`.
#[derive(Clone, Debug)]
pub struct ChangeRow<'a> {
    /// The run that has the period looked at.
    pub run: &'a str,
    /// The host.
    pub host: &'a str,
    /// Table, column and the values of the keys.
    pub name: [&'a str; 3],
    /// Meaning.
    pub means: &'a str,
    /// Mean within the period looked at.
    pub inside: f64,
    /// Mean in the other one.
    pub rest: f64,
    /// The power of two by which it changed; 0 where that may be chance.
    pub change: f64,
    /// The same per transaction; None for what is no rate, or without transactions.
    pub cost: Option<f64>,
    /// Its weight.
    pub weight: f64,
    /// True if it is the first of its meaning.
    pub is_first: bool,
    /// It in words.
    pub summary: String,
}

impl Engine {
    /// The meaning of each of `names`: table, column, and the values of its keys.
    ///
    /// # Errors
    /// When the statement cannot be answered.
    pub fn meanings(&self, names: &[[&str; 3]], scope: &Scope) -> Result<Vec<Meaning>, QueryError> {
        let mut all = vec![Meaning::default(); names.len()];
        if names.is_empty() {
            return Ok(all);
        }
        let row = |(n, [table, column, key]): (usize, &[&str; 3])| fields([&n.to_string(), table, column, key]);
        let text = joined(names.iter().enumerate().map(row));
        let answer = self.ours(NAMING, &[("names", Value::Text(text))], scope)?;
        let (numbers, places) = (answer.f64s("n"), answer.f64s("place"));
        let (means, things) = (answer.strings("means"), answer.strings("thing"));
        for (((n, place), means), thing) in numbers.into_iter().zip(places).zip(means).zip(things) {
            if let Some(of) = n.and_then(|n| all.get_mut(n as usize)) {
                *of = Meaning { means, place: place.unwrap_or(9.0) as i64, thing: thing.unwrap_or_default() };
            }
        }
        Ok(all)
    }

    /// Lets all findings over two periods look at how series changed: causes first, then by weight.
    ///
    /// # Errors
    /// As [`Engine::find_all`].
    pub fn find_changes(&self, rows: &[ChangeRow<'_>], scope: &Scope) -> Result<Vec<Found>, QueryError> {
        let mut all = Vec::new();
        for finding in findings(self.store())?.into_iter().filter(|finding| finding.periods) {
            let outcome = self.find_change(&finding, rows, scope);
            if outcome.as_ref().map_or(true, |occurrences| !occurrences.is_empty()) {
                all.push(Found { outcome, finding, follows_from: Vec::new(), of_part: None, is_split: false });
            }
        }
        order(&mut all);
        all.sort_by(|a, b| {
            let by = |found: &Found| (found.kind(), found.severity());
            by(a).cmp(&by(b)).then_with(|| weight(b).total_cmp(&weight(a)))
        });
        Ok(all)
    }

    /// Lets one finding over two periods look at how series changed.
    ///
    /// # Errors
    /// As [`Engine::find`].
    pub fn find_change(
        &self,
        finding: &Finding,
        rows: &[ChangeRow<'_>],
        scope: &Scope,
    ) -> Result<Vec<Occurrence>, QueryError> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let author = if finding.own { Author::Other } else { Author::Ours };
        let sql = finding.over_changes();
        let params = [("rows", Value::Text(joined(rows.iter().map(ChangeRow::text))))];
        let answer = self
            .whole(&Asked { author, dialect: Dialect::Questions, sql: &sql, params: &params, scope, files: &[] })
            .map_err(|e| QueryError::Finding { file: finding.file(), source: Box::new(e) })?;
        finding.occurrences(&answer)
    }
}

impl Finding {
    /// The statement of a finding over two periods behind the tables that it reads, which are made of the parameter `rows`.
    pub fn over_changes(&self) -> String {
        // On one line, so that the engine's line numbers are those of the file.
        format!("{} SELECT * FROM ({}\n) AS found", tables(), self.sql.trim_end().trim_end_matches(';'))
    }
}

/// The weight of a finding: the column `weight` of its rows.
fn weight(found: &Found) -> f64 {
    let of = |o: &Occurrence| o.evidence.iter().find(|(name, _)| name == "weight").and_then(|(_, v)| v.as_f64());
    found.outcome.iter().flatten().filter_map(of).fold(0.0, f64::max)
}

impl ChangeRow<'_> {
    fn text(&self) -> String {
        let number = |v: f64| if v.is_finite() { v.to_string() } else { String::new() };
        let [table, column, key] = self.name;
        fields([
            self.run,
            self.host,
            table,
            column,
            key,
            self.means,
            &number(self.inside),
            &number(self.rest),
            &number(self.change),
            &self.cost.map_or_else(String::new, number),
            &number(self.weight),
            if self.is_first { "1" } else { "0" },
            &self.summary,
        ])
    }
}

/// The tables `change` and `moves`, made of the parameter `rows`.
fn tables() -> String {
    let texts = ["run", "host", "table_name", "column_name", "key", "means"];
    let numbers = ["inside", "rest", "change", "cost", "weight", "is_first"];
    let field = |n: usize| format!("split_part(r, chr(31), {n})");
    let text = |(n, name): (usize, &&str)| format!("{} AS {name}", field(n + 1));
    let number =
        |(n, name): (usize, &&str)| format!("CAST(nullif({}, '') AS DOUBLE) AS {name}", field(n + 1 + texts.len()));
    let summary = field(texts.len() + numbers.len() + 1);
    // `said` is the name that `summary` had before.
    let texts = texts.iter().enumerate().map(text).chain(numbers.iter().enumerate().map(number));
    let columns: Vec<String> = texts.chain(["summary", "said"].map(|name| format!("{summary} AS {name}"))).collect();
    let of = |name: &&str| {
        let most = |column: &str| format!("max(CASE WHEN means = '{name}' THEN {column} END)");
        format!("{} AS {name}, {} AS {name}_cost", most("change"), most("cost"))
    };
    let number_of = |(name, which): (&str, &str)| {
        let of = |period: &str| format!("max(CASE WHEN {which} THEN {period} END) AS {name}_{period}");
        format!("{}, {}", of("inside"), of("rest"))
    };
    let moves: Vec<String> = MEANS.iter().map(of).chain(NUMBERS.map(number_of)).collect();
    let with = |from: String, part: &&str| format!("(SELECT *, {part} FROM {from} AS parts)");
    let moves_of_means = [WORK].iter().chain(&EXECUTING).fold("means".to_owned(), with);
    format!(
        "WITH change AS (SELECT {} FROM (SELECT unnest(string_split($rows, chr(30))) AS r) AS texts), \
         means AS (SELECT run, min(host) AS host, {} FROM change GROUP BY run), moves AS {moves_of_means}",
        columns.join(", "),
        moves.join(", ")
    )
}

/// A row of fields.
fn fields<const N: usize>(fields: [&str; N]) -> String {
    fields.map(|field| field.replace([ROW, FIELD], " ")).join(&FIELD.to_string())
}

fn joined(rows: impl Iterator<Item = String>) -> String {
    rows.collect::<Vec<_>>().join(&ROW.to_string())
}
