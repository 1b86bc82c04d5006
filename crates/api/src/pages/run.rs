//! `/run`: charts of one run, or of several overlaid.

use fenxi_model::RunId;

use super::{Page, Request, about, by_id, runs};
use crate::endpoints::{ApiError, Context, Query, run};

/// Questions of the first screen: `HEADLINE`, `LANES` and `CHARTS` of `web/src/first.tsx`, and what charts mark.
const FIRST: [&str; 10] = [
    "headline",
    "resource-strip",
    "load-throughput",
    "load-latency-over-time",
    "db-activity",
    "cpu-time",
    "run-queue",
    "disk-throughput",
    "memory-breakdown",
    "marks",
];

/// Requests of the first screen of a run.
pub(crate) fn first_of_run(run: &RunId) -> Vec<Request> {
    let id = std::slice::from_ref(run);
    let whole = ["/api/v1/findings", "/api/v1/explain"].map(|path| about(path, [], id));
    whole.into_iter().chain(FIRST.map(|name| about("/api/v1/panel", [("question", name)], id))).collect()
}

pub(super) fn page(context: &Context<'_>, query: &Query) -> Result<Page, ApiError> {
    let ids = runs(context, query)?;
    if ids.is_empty() {
        return Err(ApiError::Wrong("a page of runs needs at least one: `/run?run=NAME`".to_owned()));
    }
    let opened = run::open(context, &ids)?;
    let mut requests =
        vec![about("/api/v1/run", [], &ids), about("/api/v1/findings", [], &ids), about("/api/v1/explain", [], &ids)];
    for header in opened.sections.iter().flat_map(|s| &s.panels) {
        requests.push(about("/api/v1/panel", [("question", header.id.as_str())], &ids));
    }
    Ok(Page { address: format!("/run?{}", by_id(query, &ids).text()), title: opened.title, requests })
}
