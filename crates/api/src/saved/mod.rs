//! Pages as files: a page, every answer that it asks for, and the program that draws it, in one HTML file.

pub(crate) mod html;

use std::time::{Duration, Instant};

use fenxi_model::RunId;
use fenxi_store::Store;

use crate::{
    endpoints::{self, ApiError, Context, Query},
    kept, pages,
};

/// The address of the page that shows `runs`.
pub fn page_of_runs(runs: &[RunId]) -> String {
    let pairs = runs.iter().map(|id| ("run".to_owned(), id.to_string()));
    format!("/run?{}", Query::of(pairs).text())
}

/// Returns true if what the first screen of a run shows is better asked once, beforehand: [`prepare`].
pub fn is_large(store: &Store, run: &RunId) -> bool {
    kept::rows(store, run) >= kept::LARGE
}

/// Asks what the first screen of a run shows, so that it is there when somebody looks. Before each
/// request `go_on` gets how many of how many are done; where it returns false, the rest is left to the first look. What fails
/// fails again, and is reported, at the first look.
pub fn prepare(context: &Context<'_>, run: &RunId, go_on: &mut dyn FnMut(usize, usize) -> bool) {
    let requests = pages::first_of_run(run);
    let n = requests.len();
    for (i, (path, query)) in requests.into_iter().enumerate() {
        if !go_on(i, n) {
            return;
        }
        let _ = endpoints::answer(context, path, &query);
    }
}

/// Makes a file of the page at `address` (`/run?run=before`, or the whole address of a page on a server): the same
/// view, with every answer in it.
///
/// # Errors
/// [`ApiError`]: no such page, no such run, a question of the store that cannot be read.
pub fn page_file(context: &Context<'_>, address: &str) -> Result<Vec<u8>, ApiError> {
    page_file_watched(context, address, &mut |_, _| ())
}

/// Like [`page_file`]; `watch` gets how long each request took.
///
/// # Errors
/// As [`page_file`].
pub fn page_file_watched(
    context: &Context<'_>,
    address: &str,
    watch: &mut dyn FnMut(&str, Duration),
) -> Result<Vec<u8>, ApiError> {
    let page = pages::page(context, address)?;
    let mut answers = serde_json::Map::new();
    for (path, query) in page.requests {
        let begin = Instant::now();
        let text = query.text();
        let request = if text.is_empty() { path.to_owned() } else { format!("{path}?{text}") };
        let smaller = pages::IN_A_FILE.iter().filter(|(of, _, _)| *of == path);
        let query = smaller.fold(query, |query, (_, name, value)| query.with(name, value));
        let answer = endpoints::answer(context, path, &query)?;
        answers.insert(request.clone(), serde_json::from_slice(&answer.bytes)?);
        watch(&request, begin.elapsed());
    }
    let generator = concat!("Made by fenxi ", env!("CARGO_PKG_VERSION")).to_owned();
    let embedded = html::Embedded { version: 2, title: page.title, generator, page: page.address, answers };
    Ok(html::file(&embedded)?)
}
