//! `/study`: results of a study; without a name, the list of studies.

use super::{Page, only};
use crate::endpoints::{ApiError, Context, Query};

pub(super) fn page(_: &Context<'_>, query: &Query) -> Result<Page, ApiError> {
    let (title, request) = match query.get("name") {
        Some(name) => (name.to_owned(), ("/api/v1/study", only(query, &["name"]))),
        None => ("Studies".to_owned(), ("/api/v1/studies", Query::default())),
    };
    Ok(Page { address: format!("/study?{}", query.text()), title, requests: vec![request] })
}
