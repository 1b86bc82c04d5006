//! The report at the end of a run, in the words of each version.

use crate::{
    Out,
    load::names::{self, Name, Results},
    number,
};

/// Statements of one script that get their own results.
const MAX_STATEMENTS: usize = 500;

/// State of a report that decides how later lines are read.
#[derive(Debug, Default)]
pub struct Report {
    results: Results,
    /// The script that the lines are about; empty for all together.
    script: String,
    /// Counts in front of each statement, behind its latency; None outside such a list.
    statements: Option<usize>,
    /// Statements of the list so far: the same one twice gets a number.
    seen: Vec<String>,
    complete: bool,
    duration: Option<f64>,
}

impl Report {
    /// The report of a later run.
    pub fn new(results: Results) -> Report {
        Report { results, ..Report::default() }
    }

    /// Returns true if the throughput has been printed.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// For how long the run was asked to go on.
    pub fn duration(&self) -> Option<f64> {
        self.duration
    }

    /// Reads a line; false when it is none of a report.
    pub fn line(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        let line = line.strip_prefix("- ").unwrap_or(line);
        if line.starts_with("statement latencies in milliseconds") {
            self.statements = Some(usize::from(line.contains("failures")) + usize::from(line.contains("retries")));
            self.seen.clear();
            return true;
        }
        if let Some(script) = line.strip_prefix("SQL script ") {
            let name = script.split_once(": ").map_or(script, |(_, name)| name);
            self.script = plain_name(name).to_owned();
            self.statements = None;
            return true;
        }
        if self.statements.is_some_and(|counts| self.statement(line, counts, out)) {
            return true;
        }
        if let Some(version) = line.strip_prefix("pgbench (") {
            out.fact("load", "pgbench", version.strip_suffix(')').unwrap_or(version));
            return true;
        }
        if self.of_script(line, out) {
            return true;
        }
        if let Some(pair) = pair(line) {
            return self.pair(line, pair, out);
        }
        KNOWN.iter().any(|known| line.starts_with(known))
    }

    fn pair(&mut self, line: &str, (key, value): (&str, &str), out: &mut Out<'_>) -> bool {
        let first = value.split([' ', '/']).next().and_then(number);
        if let Some((_, name)) = NUMBERS.iter().find(|(k, _)| *k == key) {
            self.results.of(out, *name, &self.script, first);
            if *name == names::ERRORS {
                self.results.of(out, names::ERROR_SHARE, &self.script, in_brackets(value));
            }
            return first.is_some();
        }
        if let Some((_, name)) = COUNTS.iter().find(|(k, _)| *k == key) {
            if self.script.is_empty() {
                self.results.other(out, name, first, "");
            }
            return first.is_some();
        }
        match key {
            "transaction type" | "scaling factor" | "query mode" => out.fact("load", &format!("pgbench {key}"), value),
            "duration" => {
                self.duration = first;
                self.results.set(out, names::ELAPSED, first);
            }
            "maximum number of tries" | "number of transactions per client" | "weight" => {}
            "rate limit schedule lag" => {
                // `avg 0.457 (max 5.415) ms`
                let mut numbers = value.split([' ', '(', ')']).filter_map(number);
                self.results.of(out, names::LAG_MEAN, &self.script, numbers.next());
                self.results.of(out, names::LAG_MAX, &self.script, numbers.next());
            }
            "tps" => {
                self.complete = true;
                // Up to 13 both are printed; later ones print what was the second.
                match value.contains("(including connections") {
                    true => self.results.other(out, "throughput_with_connecting", first, "/s"),
                    false => self.results.set(out, names::THROUGHPUT, first),
                }
            }
            _ if key.starts_with("number of transactions above the") => {
                self.results.of(out, names::OVER_LIMIT, &self.script, first);
            }
            _ => return KNOWN.iter().any(|known| line.starts_with(known)),
        }
        true
    }

    /// `8977 transactions (60.4% of total, tps = 3040.073636)`
    fn of_script(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        let Some((count, rest)) = line.split_once(" transactions (") else { return false };
        let tps = rest.split_once("tps = ").and_then(|(_, tps)| number(tps.trim_end_matches(')')));
        self.results.of(out, names::TRANSACTIONS, &self.script, number(count));
        self.results.of(out, names::THROUGHPUT, &self.script, tps);
        number(count).is_some()
    }

    /// `0.135  0  BEGIN;`: latency, then failures and retries where the title has them.
    fn statement(&mut self, line: &str, counts: usize, out: &mut Out<'_>) -> bool {
        let mut rest = line;
        let mut next = || {
            let (word, after) = rest.split_once([' ', '\t'])?;
            rest = after.trim_start();
            number(word)
        };
        let Some(ms) = next() else { return false };
        let mut more = [None, None];
        for slot in more.iter_mut().take(counts) {
            let Some(count) = next() else { return false };
            *slot = Some(count);
        }
        if self.seen.len() >= MAX_STATEMENTS {
            return true;
        }
        let statement = if self.script.is_empty() { rest.to_owned() } else { format!("{}: {rest}", self.script) };
        let same = self.seen.iter().filter(|s| **s == statement).count();
        let name = if same == 0 { statement.clone() } else { format!("{statement} ({})", same + 1) };
        self.seen.push(statement);
        self.results.of(out, names::LATENCY_MEAN, &name, ms);
        // Commands of the client itself cannot fail.
        if !rest.starts_with('\\') {
            self.results.of(out, names::ERRORS, &name, more[0]);
            self.results.of(out, names::RETRIES, &name, more[1]);
        }
        true
    }
}

/// Returns true if a line can be the first of a run.
pub fn begins(line: &str) -> bool {
    ["pgbench (", "starting vacuum", "transaction type:", "number of clients:"].iter().any(|b| line.starts_with(b))
}

/// `key: value` or `key = value`, whichever separator comes first.
fn pair(line: &str) -> Option<(&str, &str)> {
    let colon = line.find(": ").map(|at| (at, 2));
    let equals = line.find(" = ").map(|at| (at, 3));
    let (at, length) = match (colon, equals) {
        (Some(a), Some(b)) => a.min(b),
        (a, b) => a.or(b)?,
    };
    Some((line[..at].trim(), line[at + length..].trim()))
}

/// `<builtin: simple update>` is `simple update`.
fn plain_name(name: &str) -> &str {
    name.strip_prefix("<builtin: ").and_then(|n| n.strip_suffix('>')).unwrap_or(name)
}

/// The number behind the first bracket.
fn in_brackets(text: &str) -> Option<f64> {
    number(text.split_once('(')?.1.split(['%', ' ', ')']).next()?)
}

const NUMBERS: &[(&str, Name)] = &[
    ("number of clients", names::CLIENTS),
    ("number of threads", names::THREADS),
    ("number of transactions actually processed", names::TRANSACTIONS),
    ("number of failed transactions", names::ERRORS),
    ("number of transactions skipped", names::SKIPPED),
    ("number of skipped transactions", names::SKIPPED),
    ("total number of retries", names::RETRIES),
    ("latency average", names::LATENCY_MEAN),
    ("latency stddev", names::LATENCY_SD),
    ("average connection time", names::CONNECT_MEAN),
    ("initial connection time", names::CONNECT_TIME),
];

/// Counts that no other tool knows.
const COUNTS: &[(&str, &str)] = &[
    ("number of serialization failures", "serialization_failures"),
    ("number of deadlock failures", "deadlock_failures"),
    ("number of transactions retried", "transactions_retried"),
];

/// Beginnings of lines that say what is being done, also while tables are made.
const KNOWN: &[&str] = &[
    "NOTE:",
    "creating ",
    "creating tables",
    "done",
    "dropping old tables",
    "end.",
    "generating data",
    "initializing",
    "minimum transaction latency",
    "set primary key",
    "starting vacuum",
    "tuples",
    "vacuuming",
    "weight: ",
];
