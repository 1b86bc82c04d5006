//! A workload like a load that was seen: its statements per transaction, and their rows, over one table that it brings.
//!
//! The effect of a statement on the original tables is not known from counts; a fitted one reads or updates as many
//! rows of one table. Omissions are listed with the workload.

use std::fmt::Write as _;

use serde::Serialize;

/// A statement with its counts over the same time as the transactions.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenStatement {
    /// Its normal form.
    pub text: String,
    /// Calls per second.
    pub calls_per_s: f64,
    /// Rows returned or changed per second; None where the server does not count them.
    pub rows_per_s: Option<f64>,
}

/// Properties of a load that a run shows. None where they are not known.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Statements of clients.
    pub statements: Vec<SeenStatement>,
    /// Commits and rollbacks per second, over the time of the statements.
    pub transactions_per_s: f64,
    /// Time for which sessions were idle within transactions, in seconds per second.
    pub idle_in_transaction: Option<f64>,
    /// Round trips of a transaction, as its driver counted them.
    pub round_trips: Option<f64>,
    /// Bytes of all replies to a transaction, as its driver counted them.
    pub reply_bytes: Option<f64>,
    /// Seconds of a round trip.
    pub round_trip_s: Option<f64>,
    /// CPU time of the server for a transaction, in seconds, as the driver measured it.
    pub server_cpu_s: Option<f64>,
}

/// A number of the load, by which it is compared with its fit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Knob {
    /// Its name.
    pub name: &'static str,
    /// Its value; None where it is not known.
    pub value: Option<f64>,
}

/// A workload, and what of the load it does not have.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// The text of its file.
    pub toml: String,
    /// Properties of the load that could not be fitted.
    pub missing: Vec<String>,
}

/// Kind of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    Read,
    Write,
    /// Begins or ends a transaction.
    Bounds,
    Other,
}

/// Statements that take a smaller share of the calls are put together.
const SMALL: f64 = 0.002;
/// Steps of a workload at most.
const MOST_STEPS: usize = 40;
/// Idle time in a transaction that is taken for think time and not for the client's own delay, in seconds.
const THINKS_S: f64 = 1e-3;
/// Calls and rows that are so near a whole number are that number.
const ROUNDED: f64 = 0.015;
/// Bytes of a row, and of the other messages of a reply, besides the payload.
const ROW_OVERHEAD: f64 = 27.0;
/// As [`ROW_OVERHEAD`].
const REPLY_OVERHEAD: f64 = 35.0;
const USUAL_PAYLOAD: f64 = 100.0;

fn does(text: &str) -> Does {
    let text = text.trim_start_matches(|c: char| c == '(' || c.is_whitespace()).to_ascii_lowercase();
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    match words.next().unwrap_or_default() {
        "select" | "values" | "table" | "show" | "fetch" => Does::Read,
        "insert" | "update" | "delete" | "merge" | "replace" => Does::Write,
        "with" if words.any(|word| matches!(word, "insert" | "update" | "delete")) => Does::Write,
        "with" => Does::Read,
        "begin" | "start" | "commit" | "end" | "rollback" | "abort" => Does::Bounds,
        _ => Does::Other,
    }
}

/// A step of the workload: so many calls a transaction, each of so many rows.
#[derive(Clone, Debug, PartialEq)]
struct Step {
    does: Does,
    about: String,
    calls: f64,
    rows: f64,
}

impl Seen {
    fn sum(&self, wanted: &[Does], of: impl Fn(&SeenStatement) -> f64) -> f64 {
        self.statements.iter().filter(|seen| wanted.contains(&does(&seen.text))).map(of).sum()
    }

    /// Figures that are compared, each for a transaction.
    pub fn knobs(&self) -> Vec<Knob> {
        let per = |sum: f64| (self.transactions_per_s > 0.0).then(|| sum / self.transactions_per_s);
        let knob = |name, value| Knob { name, value };
        vec![
            knob("reads", per(self.sum(&[Does::Read], |seen| seen.calls_per_s))),
            knob("rows read", per(self.sum(&[Does::Read], |seen| seen.rows_per_s.unwrap_or(0.0)))),
            knob("writes", per(self.sum(&[Does::Write], |seen| seen.calls_per_s))),
            knob("rows written", per(self.sum(&[Does::Write], |seen| seen.rows_per_s.unwrap_or(0.0)))),
            knob("round trips", self.round_trips),
            knob("reply bytes", self.reply_bytes),
            knob("server CPU, µs", self.server_cpu_s.map(|s| s * 1e6)),
        ]
    }

    /// Steps of a transaction, those of few calls put together.
    fn steps(&self) -> Vec<Step> {
        let all = self.sum(&[Does::Read, Does::Write, Does::Other], |seen| seen.calls_per_s);
        let mut seen: Vec<&SeenStatement> = self.statements.iter().filter(|seen| seen.calls_per_s > 0.0).collect();
        seen.sort_by(|a, b| b.calls_per_s.total_cmp(&a.calls_per_s));
        let mut steps: Vec<Step> = Vec::new();
        for does_what in [Does::Read, Does::Write, Does::Other] {
            let mut rest = Step { does: does_what, about: "others".to_owned(), calls: 0.0, rows: 0.0 };
            for one in seen.iter().filter(|one| does(&one.text) == does_what) {
                let (calls, rows) = (
                    one.calls_per_s / self.transactions_per_s,
                    one.rows_per_s.unwrap_or(one.calls_per_s) / one.calls_per_s,
                );
                if one.calls_per_s < SMALL * all || steps.len() >= MOST_STEPS {
                    rest.rows = (rest.rows * rest.calls + rows * calls) / (rest.calls + calls);
                    rest.calls += calls;
                } else {
                    steps.push(Step { does: does_what, about: one.text.clone(), calls, rows });
                }
            }
            steps.extend(Some(rest).filter(|rest| rest.calls >= 0.001));
        }
        steps
    }

    /// A workload like it; None without statements or transactions.
    pub fn fit(&self) -> Option<Fitted> {
        let steps = self.steps();
        if steps.is_empty() || self.transactions_per_s.is_nan() || self.transactions_per_s <= 0.0 {
            return None;
        }
        let calls: f64 = steps.iter().map(|step| step.calls).sum();
        let begins = self.sum(&[Does::Bounds], |seen| seen.calls_per_s) / self.transactions_per_s;
        // Servers need not count BEGIN and COMMIT; several statements in a transaction need them.
        let is_explicit = begins >= 0.5 || calls > 1.05;
        let mut missing = self.missing(&steps, is_explicit && calls < 1.05 && begins < 1.9);
        let widest = steps.iter().map(|step| step.rows).fold(1.0, f64::max).ceil();
        let table_size = (widest * 100.0).clamp(10_000.0, 10_000_000.0);
        let mut toml = format!(
            "about = \"fitted to a recorded load\"\n\n[options]\n\
             table_size = {{ value = {table_size:.0}, about = \"rows of the table\", shapes_tables = true }}\n\
             bytes = {{ value = {:.0}, about = \"bytes of a row's payload\", shapes_tables = true }}\n{TABLE}",
            self.payload(&steps, calls, &mut missing)
        );
        if is_explicit {
            toml += "\n[[transaction]]\nname = \"fitted\"\n\n[[transaction.step]]\nsql = \"BEGIN\"\n";
            for step in &steps {
                self.write(step, step.calls, &mut toml);
            }
            self.round_trips_and_think(calls, &mut toml);
            toml += "\n[[transaction.step]]\nsql = \"COMMIT\"\n";
        } else {
            for (place, step) in steps.iter().enumerate() {
                let weight = (1000.0 * step.calls / calls).round().max(1.0);
                let _ = write!(toml, "\n[[transaction]]\nname = \"fitted{}\"\nweight = \"{weight}\"\n", place + 1);
                self.write(step, 1.0, &mut toml);
            }
        }
        Some(Fitted { toml, missing })
    }

    /// Known differences from the load.
    fn missing(&self, steps: &[Step], is_mixed: bool) -> Vec<String> {
        let mut missing = vec![
            "tables: all rows are those of one table, each as likely; the size of the tables, their indexes and hot rows are not known"
                .to_owned(),
        ];
        let has = |test: &dyn Fn(&Step) -> bool| steps.iter().any(test);
        let is = |step: &Step, words: &[&str]| {
            words.iter().any(|word| step.about.trim_start().to_ascii_lowercase().starts_with(word))
        };
        if has(&|step| step.does == Does::Write && !is(step, &["update"])) {
            missing.push("inserts and deletes: as many rows are updated".to_owned());
        }
        if has(&|step| {
            step.does == Does::Read
                && is(step, &["select sum", "select count", "select avg", "select min", "select max"])
        }) {
            missing.push("rows that reads examined and did not return, as of aggregates".to_owned());
        }
        if has(&|step| step.does == Does::Other) {
            missing.push("statements that neither read nor write rows: a round trip each".to_owned());
        }
        if self.statements.iter().any(|seen| seen.rows_per_s.is_none()) {
            missing.push("rows: the server does not count those of all statements; one is taken for each".to_owned());
        }
        if is_mixed {
            missing.push("statements outside transactions: all are within".to_owned());
        }
        if self.round_trips.is_none() {
            missing.push("round trips besides statements: no driver counted them".to_owned());
        }
        missing
    }

    /// Bytes of a row's payload.
    fn payload(&self, steps: &[Step], calls: f64, missing: &mut Vec<String>) -> f64 {
        let rows: f64 = steps.iter().filter(|step| step.does == Does::Read).map(|step| step.rows * step.calls).sum();
        match self.reply_bytes {
            Some(bytes) if rows > 0.0 => {
                ((bytes - calls * REPLY_OVERHEAD) / rows - ROW_OVERHEAD).round().clamp(1.0, 8000.0)
            }
            _ => {
                missing
                    .push(format!("bytes: no driver counted them; rows have {USUAL_PAYLOAD} bytes (`--set bytes=`)"));
                USUAL_PAYLOAD
            }
        }
    }

    /// Adds a step that is made so many times in the mean.
    fn write(&self, step: &Step, times: f64, toml: &mut String) {
        let about: String = step.about.chars().map(|c| if c.is_control() { ' ' } else { c }).take(100).collect();
        let _ = write!(toml, "\n# {about}\n[[transaction.step]]\n");
        if (times - 1.0).abs() > 5e-4 {
            let _ = writeln!(toml, "repeat = \"{}\"", about_as_many(times));
        }
        if step.does == Does::Other {
            toml.push_str("sql = \"SELECT 1\"\n");
            return;
        }
        let _ = writeln!(
            toml,
            "let = [\"width := {}\", \"first := uniform(1, table_size - width + 1)\"]",
            about_as_many(step.rows)
        );
        toml.push_str(match step.does {
            Does::Read => "sql = \"SELECT id, k, payload FROM fitted WHERE id BETWEEN :first AND :{first + width - 1}\"\n",
            _ => "sql = \"UPDATE fitted SET k = k + 1, payload = :{letters(bytes)} WHERE id BETWEEN :first AND :{first + width - 1}\"\n",
        });
    }

    /// Round trips that no statement accounts for, and idle time within the transaction.
    fn round_trips_and_think(&self, calls: f64, toml: &mut String) {
        let more = self.round_trips.map_or(0.0, |all| all - calls - 2.0);
        if more >= 0.05 {
            let _ = write!(toml, "\n[[transaction.step]]\nrepeat = \"{}\"\nsql = \"SELECT 1\"\n", about_as_many(more));
        }
        let waits = (calls + 1.0) * self.round_trip_s.unwrap_or(0.0);
        let think = self.idle_in_transaction.map_or(0.0, |idle| idle / self.transactions_per_s - waits);
        if think >= THINKS_S * (calls + 1.0) {
            let _ = write!(toml, "\n[[transaction.step]]\nthink_us = \"{:.0}\"\n", think * 1e6);
        }
    }
}

/// An expression whose mean is `mean`, which is not below 0.
fn about_as_many(mean: f64) -> String {
    // Transactions of others, as of pollers, make counts a little less than whole.
    let near = mean.round();
    let mean = if near >= 1.0 && (mean / near - 1.0).abs() < ROUNDED { near } else { mean };
    let (whole, thousandths) = (mean.floor(), ((mean - mean.floor()) * 1000.0).round());
    match (whole, thousandths) {
        (_, 0.0) => format!("{whole}"),
        (_, 1000.0) => format!("{}", whole + 1.0),
        (0.0, _) => format!("uniform(1, 1000) < {}", thousandths + 1.0),
        _ => format!("{whole} + (uniform(1, 1000) < {})", thousandths + 1.0),
    }
}

const TABLE: &str = r#"
[[table]]
name = "fitted"
rows = "table_size"
columns = [["id", "row"], ["k", "0"], ["payload", "letters(bytes)"]]
create.postgres = "CREATE TABLE fitted (id INTEGER NOT NULL, k INTEGER NOT NULL, payload VARCHAR({bytes}) NOT NULL)"
create.mysql = "CREATE TABLE fitted (id INTEGER NOT NULL PRIMARY KEY, k INTEGER NOT NULL, payload VARCHAR({bytes}) CHARACTER SET latin1 NOT NULL)"
after.postgres = ["ALTER TABLE fitted ADD PRIMARY KEY (id)", "ANALYZE fitted"]
after.mysql = ["ANALYZE TABLE fitted"]
"#;

#[cfg(test)]
mod tests {
    use fenxi_wire::Dialect;

    use super::*;
    use crate::workload::Workload;

    fn seen(statements: &[(&str, f64, f64)]) -> Seen {
        let one = |(text, calls_per_s, rows): &(&str, f64, f64)| SeenStatement {
            text: (*text).to_owned(),
            calls_per_s: *calls_per_s,
            rows_per_s: Some(calls_per_s * rows),
        };
        Seen { statements: statements.iter().map(one).collect(), transactions_per_s: 50.0, ..Seen::default() }
    }

    fn compiles(toml: &str) {
        for dialect in [Dialect::Postgres, Dialect::Mysql] {
            Workload::parse("fitted", toml).unwrap().compile(dialect).unwrap();
        }
    }

    #[test]
    fn statements_of_transactions_keep_their_numbers_and_rows() {
        let load = Seen {
            idle_in_transaction: Some(1.0),
            reply_bytes: Some(10.0 * 35.0 + 35.0 + 1000.0 * (27.0 + 120.0)),
            round_trips: Some(16.0),
            ..seen(&[
                ("SELECT c\nFROM t \"x\"", 500.0, 100.0),
                ("delete from t where id=?", 17.0, 0.5),
                ("begin", 50.0, 0.0),
                ("commit", 50.0, 0.0),
            ])
        };
        let fitted = load.fit().unwrap();
        compiles(&fitted.toml);
        for part in [
            "sql = \"BEGIN\"",
            "repeat = \"10\"\nlet = [\"width := 100\"",
            "repeat = \"uniform(1, 1000) < 341\"\nlet = [\"width := uniform(1, 1000) < 501\"",
            "repeat = \"3 + (uniform(1, 1000) < 661)\"\nsql = \"SELECT 1\"",
            "think_us = \"20000\"",
        ] {
            assert!(fitted.toml.contains(part), "{part}\n{}", fitted.toml);
        }
        assert!(fitted.toml.contains("value = 121") || fitted.toml.contains("value = 120,"), "{}", fitted.toml);
        assert!(fitted.missing.iter().any(|what| what.starts_with("inserts and deletes")), "{:?}", fitted.missing);
        let knobs = load.knobs();
        assert_eq!((knobs[0].value, knobs[1].value, knobs[3].value), (Some(10.0), Some(1000.0), Some(0.17)));
    }

    #[test]
    fn single_statements_are_transactions_with_weights() {
        let fitted = seen(&[("SELECT 1", 37.5, 1.0), ("UPDATE t SET a=?", 12.5, 1.0)]).fit().unwrap();
        compiles(&fitted.toml);
        assert!(fitted.toml.contains("weight = \"750\"") && !fitted.toml.contains("BEGIN"), "{}", fitted.toml);
        assert!(fitted.missing.iter().any(|what| what.starts_with("bytes")));
    }

    #[test]
    fn what_has_no_statements_is_not_fitted_and_hostile_ones_are_only_remarks() {
        assert!(seen(&[]).fit().is_none());
        assert!(Seen { transactions_per_s: 0.0, ..seen(&[("SELECT 1", 1.0, 1.0)]) }.fit().is_none());
        let many: Vec<(String, f64)> =
            (0..500).map(|n| (format!("SELECT {n} \u{7f}\r\n[[table]]\"'\\ {{}}"), 1.0)).collect();
        let many: Vec<(&str, f64, f64)> = many.iter().map(|(text, calls)| (text.as_str(), *calls, 0.3)).collect();
        compiles(&seen(&many).fit().unwrap().toml);
        assert_eq!(
            [does("(SELECT 1)"), does("with x as (select 1) update t"), does(""), does("SET a")],
            [Does::Read, Does::Write, Does::Other, Does::Other]
        );
    }
}
