//! Read-only endpoints of `fenxi_api`, each under its own path.

use axum::{
    Router,
    extract::{RawQuery, State},
    http::StatusCode,
    response::Response,
    routing::get,
};
use fenxi_api::{ENDPOINTS, Endpoint, Query};

use crate::{held::held, pool::Weight, reply::Failure, shared::Shared};

/// The endpoint whose statements are free, and therefore limited.
pub(crate) const SQL: &str = "/api/v1/sql";

/// Rows of an answer when nothing is said.
const UNASKED: usize = 10_000;

/// Adds every endpoint.
pub(crate) fn routes(mut router: Router<Shared>) -> Router<Shared> {
    for endpoint in ENDPOINTS {
        let asked = move |State(shared): State<Shared>, RawQuery(query): RawQuery| async move {
            answer(&shared, endpoint, Query::parse(query.as_deref().unwrap_or_default())).await
        };
        router = router.route(endpoint.path, get(asked));
    }
    router
}

/// Answers one request.
pub(crate) async fn answer(shared: &Shared, endpoint: &'static Endpoint, query: Query) -> Result<Response, Failure> {
    let is_free = endpoint.path == SQL || query.get("sql").is_some();
    let query = if endpoint.path == SQL { limited(query, shared.settings.limits.rows)? } else { query };
    let weight = if is_free { Weight::Free } else { Weight::Page };
    let work = move |context: &fenxi_api::Context<'_>| fenxi_api::answer(context, endpoint.path, &query);
    let found = shared.pool.ask(weight, shared.settings.read_only, work).await?;
    held(shared, StatusCode::OK, found.content_type, found.bytes).await
}

/// The query with no more rows than the server gives.
fn limited(query: Query, rows: usize) -> Result<Query, Failure> {
    let limit = query.count("limit")?.unwrap_or(UNASKED).min(rows);
    let kept = query.under("").filter(|(name, _)| *name != "limit").map(|(n, v)| (n.to_owned(), v.to_owned()));
    Ok(Query::of(kept.chain([("limit".to_owned(), limit.to_string())])))
}
