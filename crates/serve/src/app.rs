//! Paths and what stands before them, in one place.

use std::{ops::Deref, sync::Arc};

use axum::{
    Router,
    extract::Request,
    http::StatusCode,
    middleware,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use tower_http::{
    CompressionLevel, compression::CompressionLayer, limit::RequestBodyLimitLayer, timeout::RequestBodyTimeoutLayer,
};

use crate::{
    Settings, access, ask, assets, audit, guard,
    metrics::{self, Metrics},
    pages,
    pool::Pool,
    reply::Failure,
};

/// Bytes of a request's body, where it is no upload.
const BODY: usize = 1 << 20;
/// Time between two pieces of a body.
const BODY_PIECE: std::time::Duration = std::time::Duration::from_secs(30);

/// What all requests share.
#[derive(Clone)]
pub(crate) struct Shared(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) settings: Settings,
    pub(crate) pool: Pool,
    pub(crate) assets: assets::Assets,
    pub(crate) door: access::Door,
    pub(crate) metrics: Metrics,
    /// Name of the session's cookie: browsers share cookies between all ports of a host.
    pub(crate) cookie: String,
}

impl Deref for Shared {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

/// Everything that is served, by a server whose first port is `port`.
pub(crate) fn router(settings: Settings, port: u16) -> Router {
    let shared = Shared(Arc::new(Inner {
        pool: Pool::new(settings.store.clone(), settings.limits.clone()),
        assets: assets::Assets::new(),
        door: access::Door::default(),
        metrics: Metrics::default(),
        cookie: format!("fenxi-{port}"),
        settings,
    }));
    let mut router = Router::new()
        .route("/assets/{name}", get(assets::get))
        .route("/login", get(access::page).post(access::login))
        .route("/logout", post(access::logout))
        .route("/metrics", get(metrics::get));
    for page in pages::PAGES {
        router = router.route(page, get(pages::shell));
    }
    router = ask::routes(router).layer(RequestBodyLimitLayer::new(BODY));
    let with = |state: &Shared| state.clone();
    // The last one stands outermost.
    router
        .fallback(missing)
        .method_not_allowed_fallback(not_so)
        .layer(RequestBodyTimeoutLayer::new(BODY_PIECE))
        .layer(CompressionLayer::new().quality(CompressionLevel::Fastest))
        .layer(middleware::from_fn_with_state(with(&shared), access::enter))
        .layer(middleware::from_fn_with_state(with(&shared), guard::origin))
        .layer(middleware::from_fn(guard::headers))
        .layer(middleware::from_fn_with_state(with(&shared), audit::watch))
        .with_state(shared)
}

async fn missing(request: Request) -> Response {
    Failure::unknown(format!("there is no {}", request.uri().path())).into_response()
}

async fn not_so(request: Request) -> Response {
    let text = format!("{} does not take {}", request.uri().path(), request.method());
    Failure::new(StatusCode::METHOD_NOT_ALLOWED, text).into_response()
}
