//! Read-only endpoints of `fenxi_api`, each under its own path.

use axum::{
    extract::RawQuery,
    http::StatusCode,
    response::Response,
    routing::{MethodRouter, get},
};
use fenxi_api::{ENDPOINTS, Endpoint, Query};

use crate::{pool::Weight, reply::Failure, response_budget::held, rights::Right, shared::Shared, visit::Visit};

/// The endpoint whose statements are free, and therefore limited.
pub(crate) const SQL: &str = "/api/v1/sql";

/// Rows of an answer by default.
const UNASKED: usize = 10_000;

/// Every endpoint and its path.
pub(crate) fn routes() -> impl Iterator<Item = (&'static str, MethodRouter<Shared>)> {
    ENDPOINTS.iter().map(|endpoint| {
        let asked = move |visit: Visit, RawQuery(query): RawQuery| async move {
            answer(&visit, endpoint, Query::parse(query.as_deref().unwrap_or_default())).await
        };
        (endpoint.path, get(asked))
    })
}

/// Answers one request.
pub(crate) async fn answer(visit: &Visit, endpoint: &'static Endpoint, query: Query) -> Result<Response, Failure> {
    let is_free = endpoint.path == SQL || query.get("sql").is_some();
    let query = if endpoint.path == SQL { limited(query, visit.settings.limits.rows)? } else { query };
    let weight = if is_free { Weight::Free } else { Weight::Page };
    let work = move |context: &fenxi_api::Context<'_>| fenxi_api::answer(context, endpoint.path, &query);
    // Who may change nothing is offered nothing to change.
    let read_only = visit.settings.read_only || visit.asker.may(Right::Write).is_err();
    let found = visit.pool.ask(weight, &visit.asker, read_only, work).await?;
    held(visit, StatusCode::OK, found.content_type, found.bytes).await
}

/// The query with no more rows than the server gives.
fn limited(query: Query, rows: usize) -> Result<Query, Failure> {
    let limit = query.count("limit")?.unwrap_or(UNASKED).min(rows);
    let kept = query.under("").filter(|(name, _)| *name != "limit").map(|(n, v)| (n.to_owned(), v.to_owned()));
    Ok(Query::of(kept.chain([("limit".to_owned(), limit.to_string())])))
}
