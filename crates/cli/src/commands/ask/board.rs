//! `fenxi ask --board`: a page that somebody wrote, in the terminal: its text, and the first rows of each answer.

use std::{collections::BTreeMap, fmt::Write};

use fenxi_query::{Block, Board, QueryError, What, question, render};
use serde_json::json;

use super::playbook::Asking;
use crate::{answers, options::Format, print};

impl Asking<'_> {
    /// The board as text, Markdown or JSON Lines; questions that name runs are asked of these.
    ///
    /// # Errors
    /// When a question is not there or fails, or the format is of rows only.
    pub fn board(&self, board: &Board, format: Format, width: Option<usize>) -> anyhow::Result<String> {
        let form = match format {
            Format::Table => render::Format::Table,
            Format::Markdown => render::Format::Markdown,
            Format::Json => render::Format::Json,
            Format::Csv | Format::Parquet => {
                anyhow::bail!("a board is no table; print it with `-o table`, `-o markdown` or `-o json`")
            }
        };
        let mut out = String::new();
        if format != Format::Json {
            let mark = if format == Format::Markdown { "# " } else { "" };
            writeln!(out, "{mark}{}\n", print::visible(&board.title))?;
        }
        for block in &board.blocks {
            let asks = match block {
                Block::Text(text) if format == Format::Json => {
                    out += &(json!({ "board": board.name, "text": text }).to_string() + "\n");
                    continue;
                }
                Block::Text(text) => {
                    text.trim().lines().for_each(|line| out.extend([&print::visible(line), "\n"]));
                    out.push('\n');
                    continue;
                }
                Block::Asks(asks) => asks,
            };
            let question = match &asks.what {
                What::Named(name) => question(self.store, name)?,
                What::Own(own) => own.as_ref().clone(),
            };
            let selectors: Option<Vec<String>> =
                asks.run.as_ref().map(|run| run.split(',').map(|s| s.trim().to_owned()).collect());
            let scope = selectors.as_deref().map(|runs| answers::scope(self.store, runs)).transpose()?;
            let scope = scope.unwrap_or_else(|| self.scope.clone()).between(asks.from, asks.to);
            let params: BTreeMap<String, String> = asks.params.iter().cloned().collect();
            let here = Asking { scope: &scope, ..*self };
            let shown = here.answer(&params, &question)?;
            let mut rows = Vec::new();
            render::write(&shown.answer, form, render::Style { width }, &mut rows)?;
            let rows = String::from_utf8_lossy(&rows);
            let title = asks.title.as_deref().unwrap_or(&question.title);
            if format == Format::Json {
                let rows = rows.lines().map(serde_json::from_str).collect::<Result<Vec<serde_json::Value>, _>>()?;
                let line = json!({ "board": board.name, "question": question.name, "title": title, "rows": rows });
                out += &(line.to_string() + "\n");
                continue;
            }
            let mark = if format == Format::Markdown { "## " } else { "" };
            let rows = if shown.answer.n_rows() == 0 { "no answer".into() } else { rows };
            let more = if shown.has_more { "… and more\n" } else { "" };
            writeln!(out, "{mark}{}\n\n{}\n{more}", print::visible(title), rows.trim_end())?;
        }
        Ok(out)
    }
}

/// The list of boards; one that is wrong is listed with its error.
pub fn list(all: &BTreeMap<String, Result<Board, QueryError>>, format: Format) -> String {
    let said = |read: &Result<Board, QueryError>| match read {
        Ok(board) => board.title.clone(),
        Err(error) => error.to_string(),
    };
    if format == Format::Json {
        let line = |(name, read): (&String, &Result<Board, QueryError>)| {
            json!({ "board": name, "title": said(read), "wrong": read.is_err() }).to_string() + "\n"
        };
        return all.iter().map(line).collect();
    }
    if all.is_empty() {
        return "no boards; a board is a file boards/NAME.md in the store: text with questions in it\n".to_owned();
    }
    let rows: Vec<_> = all.iter().map(|(name, read)| vec![name.clone(), said(read)]).collect();
    print::listing(&["board", "title"], &[], &[], &rows)
}
