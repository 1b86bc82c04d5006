//! `/board`: a page that somebody wrote, with every question answered.

use super::Page;
use crate::endpoints::{ApiError, Context, Query, board};

pub(super) fn page(context: &Context<'_>, query: &Query) -> Result<Page, ApiError> {
    let laid = board::laid(context, query)?;
    let mut requests = vec![("/api/v1/board", super::only(query, &["name", "run"]))];
    for asks in laid.blocks.iter().filter_map(|block| block.asks.as_ref()) {
        let all = [Some(&asks.request), asks.over.as_ref()];
        let all = all.into_iter().flatten().filter(|request| !request.is_empty());
        requests.extend(all.map(|request| ("/api/v1/panel", Query::of(request.iter().cloned()))));
    }
    Ok(Page { address: format!("/board?{}", query.text()), title: laid.title, requests })
}
