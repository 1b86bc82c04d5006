//! Statements of an Oracle report: the same ones come in several lists, each by another measure.

use fenxi_model::catalog::db_statement;

use super::{Report, amount::amount, dashes::Columns};
use crate::{Out, generic::labels::Labels};

/// Statements that are kept; a report has some hundreds.
const MAX_STATEMENTS: usize = 4096;
/// The longest text of a statement that is kept.
const MAX_TEXT: usize = 16 << 10;

#[derive(Debug, Default)]
struct Statement {
    digest: String,
    module: String,
    text: String,
    executions: Option<f64>,
    elapsed_s: Option<f64>,
    cpu_s: Option<f64>,
    gets: Option<f64>,
    reads: Option<f64>,
    rows: Option<f64>,
}

/// All statements of the report.
#[derive(Debug, Default)]
pub(super) struct Statements {
    statements: Vec<Statement>,
    /// The one whose text follows, and the text so far.
    open: Option<usize>,
    text: String,
}

impl Statements {
    /// A line under a list's names: figures, the module, or the statement's text.
    pub(super) fn line(&mut self, columns: &Columns, line: &str) {
        if self.open.is_none() {
            self.figures(columns, line);
        } else if let Some(module) = line.strip_prefix("Module:") {
            self.statement(|s| module.trim().clone_into(&mut s.module));
        } else if !line.starts_with("PDB:") && self.text.len() + line.len() < MAX_TEXT {
            if !self.text.is_empty() {
                self.text.push(' ');
            }
            self.text.push_str(line.trim());
        }
    }

    fn statement(&mut self, change: impl FnOnce(&mut Statement)) {
        if let Some(statement) = self.open.and_then(|place| self.statements.get_mut(place)) {
            change(statement);
        }
    }

    fn figures(&mut self, columns: &Columns, line: &str) {
        let find = |test: &dyn Fn(&str) -> bool| columns.find(|name| test(&name.to_lowercase()));
        let key = find(&|name| name == "sql id" || name.ends_with("hash value"));
        let digest = key.map_or("", |column| columns.cell(line, column));
        if digest.is_empty() || digest.contains(' ') || self.statements.len() >= MAX_STATEMENTS {
            return;
        }
        let value = |test: &dyn Fn(&str) -> bool| find(test).and_then(|column| amount(columns.cell(line, column)));
        let place = match self.statements.iter().position(|s| s.digest == digest) {
            Some(place) => place,
            None => {
                self.statements.push(Statement { digest: digest.to_owned(), ..Statement::default() });
                self.statements.len() - 1
            }
        };
        self.open = Some(place);
        let executions = value(&|name| name == "executions");
        let elapsed = value(&|name| name.starts_with("elapsed time (s)") || name.starts_with("elapsd time (s)"));
        let cpu = value(&|name| name.starts_with("cpu time (s)"));
        let gets = value(&|name| name == "buffer gets");
        let reads = value(&|name| name == "physical reads" || name == "phys reads" || name == "reads");
        let rows = value(&|name| name == "rows processed");
        self.statement(|s| {
            s.executions = s.executions.or(executions);
            s.elapsed_s = s.elapsed_s.or(elapsed);
            s.cpu_s = s.cpu_s.or(cpu);
            s.gets = s.gets.or(gets);
            s.reads = s.reads.or(reads);
            s.rows = s.rows.or(rows);
        });
    }

    /// The statement's text is over.
    pub(super) fn end_text(&mut self) {
        let text = std::mem::take(&mut self.text);
        self.statement(|s| {
            if s.text.is_empty() {
                s.text = text;
            }
        });
        self.open = None;
    }

    /// Writes one row a statement.
    pub(super) fn write(self, report: &Report, out: &mut Out<'_>) {
        for s in self.statements {
            let rate = |count: Option<f64>| Some(count? / report.dt?);
            let per_execution = |seconds: f64| Some(seconds * 1000.0 / s.executions.filter(|n| *n > 0.0)?);
            let mut row = out.row(&db_statement::TABLE, report.t, report.dt);
            row.str(db_statement::server, report.server.as_deref()).str(db_statement::digest, s.digest.as_str());
            row.str(db_statement::database, report.database.as_deref());
            row.str(db_statement::statement, Some(s.text.as_str()).filter(|text| !text.is_empty()));
            row.f64(db_statement::calls_per_s, rate(s.executions)).f64(db_statement::time, rate(s.elapsed_s));
            row.f64(db_statement::mean_ms, s.elapsed_s.and_then(per_execution));
            row.f64(db_statement::rows_per_s, rate(s.rows)).f64(db_statement::cache_misses_per_s, rate(s.reads));
            let hits = s.gets.zip(s.reads).map(|(gets, reads)| (gets - reads).max(0.0));
            row.f64(db_statement::cache_hits_per_s, rate(hits));
            let mut labels = Labels::of("digest", &s.digest);
            labels.push("module", &s.module);
            for (name, value, unit) in [("cpu_time", s.cpu_s, "s"), ("buffer_gets", s.gets, "")] {
                if let Some(value) = value {
                    out.metric(report.t, report.dt, &format!("oracle.sql_{name}"), labels.text(), value, unit);
                }
            }
        }
    }
}
