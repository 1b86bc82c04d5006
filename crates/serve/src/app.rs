//! Router and middleware of the server.

use std::{ops::Deref, sync::Arc};

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
    Settings, access, ask, assets, audit, change,
    connections::House,
    files, guard, live,
    live::sampler::Samplers,
    metrics::{self, Metrics},
    openapi, pages,
    pool::{Log, Pool},
    queue::Turns,
    reply::Failure,
    response_budget::Room,
};

/// Bytes of a request's body, where it is no upload.
const BODY: usize = 1 << 20;

/// What all requests share.
#[derive(Clone)]
pub(crate) struct Shared(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) settings: Settings,
    pub(crate) pool: Pool,
    pub(crate) assets: assets::Assets,
    pub(crate) door: access::Door,
    pub(crate) metrics: Metrics,
    /// Who samples this machine for listeners.
    pub(crate) samplers: Samplers,
    /// Who is connected.
    pub(crate) house: Arc<House>,
    /// Turns of averages: each reads all of its runs.
    pub(crate) averages: Turns,
    /// Turns of files that were taken and become runs.
    pub(crate) imports: Turns,
    /// Turns of archives that are given.
    pub(crate) exports: Turns,
    /// Turns of files that are taken.
    pub(crate) uploads: Turns,
    /// Room for answers that wait for their clients.
    pub(crate) answers: Room,
    /// Cancelled when the server ends.
    pub(crate) stop: CancellationToken,
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
pub(crate) fn router(settings: Settings, port: u16, stop: CancellationToken, house: Arc<House>) -> Router {
    let shared = Shared(Arc::new(Inner {
        pool: Pool::new(&settings, log(&settings)),
        assets: assets::Assets::new(),
        door: access::Door::default(),
        metrics: Metrics::default(),
        samplers: Samplers::default(),
        house,
        averages: Turns::new(1, "other averages"),
        imports: Turns::new(settings.limits.imports, "other imports"),
        exports: Turns::new(settings.limits.transfers, "other exports"),
        uploads: Turns::new(settings.limits.transfers, "other uploads"),
        answers: Room::new(settings.limits.answer_bytes),
        stop,
        cookie: format!("fenxi-{port}"),
        settings,
    }));
    let unpacked = DefaultPredicate::new().and(NotForContentType::const_new("application/zstd"));
    let mut router = Router::new()
        // These are asked for once and kept: worth packing well. Answers are packed quickly, further below.
        .route("/assets/{name}", get(assets::get).layer(CompressionLayer::new()))
        .route(assets::LICENSES, get(assets::licenses).layer(CompressionLayer::new()))
        .route("/login", get(access::page).post(access::login))
        .route("/logout", post(access::logout))
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
        .layer(middleware::from_fn_with_state(shared.clone(), access::enter))
        .layer(middleware::from_fn_with_state(shared.clone(), guard::origin))
        .layer(middleware::from_fn(guard::headers))
        .layer(middleware::from_fn_with_state(shared.clone(), audit::watch))
        .with_state(shared)
}

/// Takes lines about what went wrong, with the time before them.
fn log(settings: &Settings) -> Log {
    let (audit, now) = (Arc::clone(&settings.audit), settings.now);
    Box::new(move |line| audit(&format!("{} {line}", now().iso())))
}

async fn missing(request: Request) -> Response {
    Failure::unknown(format!("there is no {}", request.uri().path())).into_response()
}

async fn not_so(request: Request) -> Response {
    let text = format!("{} does not take {}", request.uri().path(), request.method());
    Failure::new(StatusCode::METHOD_NOT_ALLOWED, text).into_response()
}
