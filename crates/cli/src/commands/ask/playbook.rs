//! `fenxi ask --playbook`: every step of a playbook with its answer, what to look for, and where it leads.

use std::{collections::BTreeMap, fmt::Write};

use fenxi_query::{Answer, Engine, Next, Playbook, Question, Scope, Step, question, render};
use fenxi_store::Store;
use serde_json::{Value, json};

use crate::{options::Format, print};

/// Rows of an answer that are printed.
const ROWS: usize = 10;

/// Questions at work on runs.
#[derive(Clone, Copy)]
pub struct Asking<'a> {
    /// Where questions are.
    pub store: &'a Store,
    /// The engine that answers.
    pub engine: &'a Engine,
    /// The runs.
    pub scope: &'a Scope,
    /// As they were named: in commands that are suggested.
    pub runs: &'a [String],
}

/// An answer, as far as it is shown.
pub(super) struct Shown {
    pub(super) answer: Answer,
    /// Whether there are further rows.
    pub(super) has_more: bool,
}

impl Asking<'_> {
    /// The answers to all steps as text, Markdown or JSON Lines.
    ///
    /// # Errors
    /// When a question is not there or fails, or the format is of rows only.
    pub fn tell(&self, playbook: &Playbook, format: Format, width: Option<usize>) -> anyhow::Result<String> {
        let form = match format {
            Format::Table => render::Format::Table,
            Format::Markdown => render::Format::Markdown,
            Format::Json => render::Format::Json,
            Format::Csv | Format::Parquet => {
                anyhow::bail!("a playbook is no table; print it with `-o table`, `-o markdown` or `-o json`")
            }
        };
        let mut out = String::new();
        if format != Format::Json {
            let mark = if format == Format::Markdown { "# " } else { "" };
            writeln!(out, "{mark}{}\n{}", playbook.title, playbook.about)?;
        }
        for (place, step) in playbook.steps.iter().enumerate() {
            let question = question(self.store, &step.ask)?;
            let shown = self.answer(&step.param, &question)?;
            let mut rows = Vec::new();
            render::write(&shown.answer, form, render::Style { width }, &mut rows)?;
            let rows = String::from_utf8_lossy(&rows).into_owned();
            if format == Format::Json {
                out += &self.line(playbook, step, &question, &rows)?;
            } else {
                let heading = if format == Format::Markdown { "## " } else { "" };
                let command = self.command(step);
                writeln!(out, "\n{heading}{}. {}: {}  ({command})", place + 1, step.name, question.title)?;
                writeln!(out, "look for: {}\n", step.look)?;
                out += &self.rows(playbook, &shown, &rows, &command);
                for next in &step.then {
                    writeln!(out, "{} {}: {}", bullet(format), next.when, self.next(playbook, next))?;
                }
            }
        }
        Ok(out)
    }

    /// The lines below what to look for.
    fn rows(&self, playbook: &Playbook, shown: &Shown, rows: &str, command: &str) -> String {
        if shown.answer.n_rows() == 0 {
            let how = playbook.needs.as_ref().map(|needs| format!(" ({needs})")).unwrap_or_default();
            return format!("no answer: there was nothing of it, or it was not recorded{how}\n\n");
        }
        let more = if shown.has_more { format!("… and more: {command}\n") } else { String::new() };
        format!("{}\n{more}\n", rows.trim_end())
    }

    /// A step as a line of JSON.
    fn line(&self, playbook: &Playbook, step: &Step, question: &Question, rows: &str) -> anyhow::Result<String> {
        let rows = rows.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>()?;
        let then: Vec<Value> = step
            .then
            .iter()
            .map(|next| json!({ "when": next.when, "step": next.step, "playbook": next.playbook }))
            .collect();
        let line = json!({ "playbook": playbook.name, "step": step.name, "question": step.ask, "title": question.title,
            "look": step.look, "rows": rows, "then": then });
        Ok(line.to_string() + "\n")
    }

    /// The first rows of the answer; of one over time, a row for each line with its mean, minimum and maximum.
    pub(super) fn answer(&self, params: &BTreeMap<String, String>, question: &Question) -> anyhow::Result<Shown> {
        let given: Vec<(String, String)> = params.clone().into_iter().collect();
        let params = question.bind(&given)?;
        let inner = question.sql.trim_end().trim_end_matches(';');
        let sql = match question.x.as_deref() {
            Some("t") => over_time(question, inner),
            _ => format!("SELECT * FROM ({inner}\n) LIMIT {}", ROWS + 1),
        };
        let mut answer = self.engine.query_with(&sql, &params, self.scope)?;
        let has_more = question.x.as_deref() != Some("t") && answer.n_rows() > ROWS;
        if has_more {
            let mut left = ROWS;
            for batch in &mut answer.batches {
                let rows = left.min(batch.num_rows());
                *batch = batch.slice(0, rows);
                left -= rows;
            }
        }
        let answer = if self.runs.len() > 1 { answer } else { answer.without_constant(&["run", "host"]) };
        Ok(Shown { answer, has_more })
    }

    /// The command that asks the question of a step alone.
    fn command(&self, step: &Step) -> String {
        let mut command = format!("fenxi ask {}", step.ask);
        for (name, value) in &step.param {
            command += &format!(" -p {name}={value}");
        }
        self.runs.iter().fold(command, |command, run| command + " -r " + run)
    }

    fn next(&self, playbook: &Playbook, next: &Next) -> String {
        let place = |name: &String| playbook.steps.iter().position(|step| step.name == *name);
        match (&next.step, &next.playbook) {
            (Some(step), _) => match place(step) {
                Some(place) => format!("step {}, {step}", place + 1),
                None => step.clone(),
            },
            (None, Some(other)) => {
                format!(
                    "fenxi ask --playbook {other}{}",
                    self.runs.iter().fold(String::new(), |all, run| all + " " + run)
                )
            }
            (None, None) => String::new(),
        }
    }
}

fn bullet(format: Format) -> &'static str {
    if format == Format::Markdown { "-" } else { "  if" }
}

/// SQL that sums up a question over time: a line for each series and column of values.
fn over_time(question: &Question, inner: &str) -> String {
    let name = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let text = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let each = |call: &dyn Fn(&str) -> String| {
        question.y.iter().map(|y| format!("CAST({} AS DOUBLE)", call(&name(y)))).collect::<Vec<_>>().join(", ")
    };
    let series = question.series.as_deref().map(name);
    let key = series.as_ref().map(|series| format!("{series}, ")).unwrap_or_default();
    let names = question.y.iter().map(|y| text(y)).collect::<Vec<_>>().join(", ");
    format!(
        "SELECT * FROM (SELECT run, host, {key}unnest([{names}]) AS what, unnest([{}]) AS mean, unnest([{}]) AS min, \
         unnest([{}]) AS max, {} AS unit FROM ({inner}\n) GROUP BY run, host{}) \
         WHERE max IS NOT NULL AND max <> 0 ORDER BY run, host, max DESC, what LIMIT {ROWS}",
        each(&|y| format!("coalesce(wmean({y}, dt), avg({y}))")),
        each(&|y| format!("min({y})")),
        each(&|y| format!("max({y})")),
        text(question.unit.symbol()),
        series.map(|series| format!(", {series}")).unwrap_or_default(),
    )
}

/// The list of playbooks.
pub fn list(all: &[Playbook], format: Format) -> String {
    if format == Format::Json {
        let line = |playbook: &Playbook| {
            let steps: Vec<_> =
                playbook.steps.iter().map(|step| json!({ "name": step.name, "question": step.ask })).collect();
            json!({ "playbook": playbook.name, "title": playbook.title, "about": playbook.about, "needs": playbook.needs,
                "steps": steps, "own": playbook.own })
            .to_string()
                + "\n"
        };
        return all.iter().map(line).collect();
    }
    let row =
        |playbook: &Playbook| vec![playbook.name.clone(), playbook.steps.len().to_string(), playbook.title.clone()];
    let rows: Vec<_> = all.iter().map(row).collect();
    print::listing(&["playbook", "steps", "title"], &[1], &[1], &rows)
}
