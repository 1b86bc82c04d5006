//! Router and middleware of the server.

use std::sync::Arc;

use axum::{
    Router,
    extract::{DefaultBodyLimit, Request},
    http::StatusCode,
    middleware,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use tokio_util::sync::CancellationToken;
use tower_http::{
    CompressionLevel,
    compression::{CompressionLayer, DefaultPredicate, Predicate, predicate::NotForContentType},
};

use crate::{
    Settings, ask, assets, audit, change, connections::House, files, guard, live, login, metrics, openapi, pages,
    reply::Failure, shared::Shared,
};

/// Bytes of a request's body, where it is no upload.
const BODY: usize = 1 << 20;

/// Everything that is served, by a server whose first port is `port`.
pub(crate) fn router(settings: Settings, port: u16, stop: CancellationToken, house: Arc<House>) -> Router {
    let shared = Shared::new(settings, port, stop, house);
    let unpacked = DefaultPredicate::new().and(NotForContentType::const_new("application/zstd"));
    let mut router = Router::new()
        // These are asked for once and kept: worth packing well. Answers are packed quickly, further below.
        .route("/assets/{name}", get(assets::get).layer(CompressionLayer::new()))
        .route(assets::LICENSES, get(assets::licenses).layer(CompressionLayer::new()))
        .route("/login", get(login::page).post(login::login))
        .route("/logout", post(login::logout))
        .route("/metrics", get(metrics::get))
        .route("/api/v1/live", get(live::get))
        .route(live::status::PATH, get(live::status::get))
        .route(openapi::PATH, get(openapi::get))
        .route(change::LABELS, get(change::get_labels))
        .route(files::EXPORT, get(files::export))
        .route(files::EXPORT_MANY, get(files::export_many))
        .route(files::REPORT, get(files::report));
    for page in pages::PAGES {
        router = router.route(page, get(pages::shell));
    }
    for (typed, _) in pages::ALIASES {
        router = router.route(typed, get(pages::alias));
    }
    router = change::routes(&shared, ask::routes(router));
    // The last one is outermost.
    router
        .fallback(missing)
        .method_not_allowed_fallback(not_so)
        .layer(DefaultBodyLimit::max(BODY))
        .layer(CompressionLayer::new().quality(CompressionLevel::Fastest).compress_when(unpacked))
        .layer(middleware::from_fn_with_state(shared.clone(), login::enter))
        .layer(middleware::from_fn_with_state(shared.clone(), guard::origin))
        .layer(middleware::from_fn(guard::headers))
        .layer(middleware::from_fn_with_state(shared.clone(), audit::watch))
        .with_state(shared)
}

async fn missing(request: Request) -> Response {
    Failure::unknown(format!("there is no {}", request.uri().path())).into_response()
}

async fn not_so(request: Request) -> Response {
    let text = format!("{} does not take {}", request.uri().path(), request.method());
    Failure::new(StatusCode::METHOD_NOT_ALLOWED, text).into_response()
}
