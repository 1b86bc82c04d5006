//! Answers to questions become one self-contained page.
//!
//! Nothing of a report is hard-wired: it is the questions of the store, asked over the chosen runs,
//! put as JSON beside the page's script (built in `web/`, committed in `web/dist/`). The page needs
//! no network, and everything that people named is shown as text, never as markup.

pub mod api;
mod data;
mod findings;
mod html;
mod pack;
mod panel;
mod payload;

use std::time::{Duration, Instant};

use fenxi_model::RunId;
use fenxi_query::{Engine, QueryError, Scope, questions};
use fenxi_store::{Store, StoreError};

use payload::{Payload, Run, Section};

/// What a report holds.
#[derive(Clone, Debug)]
pub struct Options {
    /// Its heading; None for one made from the runs' names.
    pub title: Option<String>,
    /// Most points of a line: time is cut into so many bins, each with mean, least and greatest value.
    pub bins: usize,
    /// Most rows of a table that the page keeps.
    pub rows: usize,
    /// Most lines of one chart and run; the greatest are kept. Heat maps keep all.
    pub series: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { title: None, bins: 600, rows: 500, series: 40 }
    }
}

/// A report that could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// No run was named.
    #[error("a report needs at least one run: name one by id, name, `@1` or `tag=value`")]
    NoRuns,
    /// A run could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Questions or findings could not be read; a single one that fails is told on the page instead.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// The answers could not be written as JSON.
    #[error("cannot write the answers as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// Makes the report of `runs`, one HTML file.
///
/// # Errors
/// [`ReportError`]: no run named, an unknown run, a question of the store that cannot be read.
pub fn render(engine: &Engine, store: &Store, runs: &[RunId], options: Options) -> Result<Vec<u8>, ReportError> {
    render_watched(engine, store, runs, options, &mut |_, _| ())
}

/// Like [`render`]; tells `watch` how long the findings and each question took.
///
/// # Errors
/// As [`render`].
pub fn render_watched(
    engine: &Engine,
    store: &Store,
    runs: &[RunId],
    options: Options,
    watch: &mut dyn FnMut(&str, Duration),
) -> Result<Vec<u8>, ReportError> {
    if runs.is_empty() {
        return Err(ReportError::NoRuns);
    }
    let entries = runs.iter().map(|id| store.run(id)).collect::<Result<Vec<_>, _>>()?;
    let shown = Run::all(&entries);
    let scope = Scope::of(runs.iter().cloned());
    let begin = Instant::now();
    let findings = findings::look(engine, &scope, &shown)?;
    watch("findings", begin.elapsed());
    let mut sections: Vec<Section> = Vec::new();
    let mut all = questions(store)?;
    all.extend(engine.carried_questions(&scope)?);
    // Stable: what runs bring comes after what is always asked.
    all.sort_by_key(|q| q.section);
    for question in all {
        let begin = Instant::now();
        let panel = panel::panel(engine, &question, &scope, &shown, &options);
        watch(&question.name, begin.elapsed());
        let word = question.section.word();
        match sections.last_mut() {
            Some(last) if last.id == word => last.panels.push(panel),
            _ => sections.push(Section { id: word.to_owned(), title: heading(word), panels: vec![panel] }),
        }
    }
    let title =
        options.title.unwrap_or_else(|| shown.iter().map(|r| r.name.as_str()).collect::<Vec<_>>().join(" and "));
    let generator = concat!("Made by fenxi ", env!("CARGO_PKG_VERSION")).to_owned();
    html::page(&Payload { version: 1, title, generator, runs: shown, findings, sections })
}

/// A section's word as a heading: short ones are abbreviations.
fn heading(word: &str) -> String {
    if word.len() <= 3 {
        return word.to_uppercase();
    }
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #[test]
    fn short_words_of_sections_are_abbreviations() {
        assert_eq!(super::heading("cpu"), "CPU");
        assert_eq!(super::heading("memory"), "Memory");
    }
}
