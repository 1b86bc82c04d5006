//! `/trend`: one metric over runs; without a metric all results at a glance.

use super::{Page, only};
use crate::endpoints::{ApiError, Context, Query};

pub(super) fn page(_: &Context<'_>, query: &Query) -> Result<Page, ApiError> {
    let (title, request) = match query.get("metric") {
        Some(metric) => {
            (format!("{metric} over runs"), ("/api/v1/trend", only(query, &["metric", "where", "last", "window"])))
        }
        None => ("Results over runs".to_owned(), ("/api/v1/trends", only(query, &["where", "last"]))),
    };
    Ok(Page { address: format!("/trend?{}", query.text()), title, requests: vec![request] })
}
