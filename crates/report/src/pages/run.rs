//! `/run`: charts of one run, or of several overlaid.

use super::{Page, about, by_id, runs};
use crate::api::{ApiError, Context, Query, run};

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
