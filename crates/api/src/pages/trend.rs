//! `/trend`: one metric over runs.

use super::{Page, only};
use crate::endpoints::{ApiError, Context, Query};

pub(super) fn page(_: &Context<'_>, query: &Query) -> Result<Page, ApiError> {
    let metric = query.required("metric")?;
    let request = ("/api/v1/trend", only(query, &["metric", "where", "last", "window"]));
    Ok(Page {
        address: format!("/trend?{}", query.text()),
        title: format!("{metric} over runs"),
        requests: vec![request],
    })
}
