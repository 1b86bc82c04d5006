//! Routes of the server, the right that each needs, and its middleware.

use std::sync::Arc;

use axum::{
    Router,
    extract::{DefaultBodyLimit, Request, State},
    http::{Method, StatusCode},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{MethodRouter, get, post},
};
use tokio_util::sync::CancellationToken;
use tower_http::{
    CompressionLevel,
    compression::{CompressionLayer, DefaultPredicate, Predicate, predicate::NotForContentType},
};

use crate::{
    Settings, ask, assets, audit, change,
    connections::House,
    files, guard, live, login, metrics, openapi, pages,
    reply::Failure,
    rights::Right,
    shared::Shared,
    visit::{Route, Visit},
};

/// Bytes of a request's body, where it is no upload.
const BODY: usize = 1 << 20;

/// Everything that is served, by a server whose first port is `port`.
pub(crate) fn router(settings: Settings, port: u16, stop: CancellationToken, house: Arc<House>) -> Router {
    let shared = Shared::new(settings, port, stop, house);
    let unpacked = DefaultPredicate::new().and(NotForContentType::const_new("application/zstd"));
    let add = |router: Router<Shared>, route: Route| router.route(route.path, guarded(&shared, route));
    // The last one is outermost.
    routes()
        .into_iter()
        .fold(Router::new(), add)
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

/// All routes: there is no other way to be reached.
pub(crate) fn routes() -> Vec<Route> {
    let route = |method, path, right, answer| Route { method, path, right, answer };
    let get_ = |path, right, answer| route(Method::GET, path, right, answer);
    let mut all = vec![
        // These are asked for once and kept: worth packing well. Answers are packed quickly, further below.
        get_("/assets/{name}", Right::None, get(assets::get).layer(CompressionLayer::new())),
        get_(assets::LICENSES, Right::See, get(assets::licenses).layer(CompressionLayer::new())),
        get_("/login", Right::None, get(login::page)),
        route(Method::POST, "/login", Right::None, post(login::login)),
        route(Method::POST, "/logout", Right::None, post(login::logout)),
        get_("/metrics", Right::SeeAll, get(metrics::get)),
        // Of this machine only to who sees all.
        get_("/api/v1/live", Right::See, get(live::get)),
        get_(live::status::PATH, Right::See, get(live::status::get)),
        get_(openapi::PATH, Right::See, get(openapi::get)),
        get_(change::LABELS, Right::See, get(change::get_labels)),
        get_(files::EXPORT, Right::See, get(files::export)),
        get_(files::EXPORT_MANY, Right::See, get(files::export_many)),
        get_(files::REPORT, Right::See, get(files::report)),
    ];
    all.extend(pages::PAGES.iter().map(|page| get_(page, Right::See, get(pages::shell))));
    all.extend(pages::ALIASES.iter().map(|(typed, _)| get_(typed, Right::See, get(pages::alias))));
    all.extend(ask::routes().map(|(path, answer)| get_(path, Right::See, answer)));
    all.extend(change::routes());
    all
}

/// The method and path of everything that is answered, and the right that it needs.
pub fn rights() -> Vec<(String, &'static str, &'static str)> {
    routes().iter().map(|route| (route.method.to_string(), route.path, route.right.name())).collect()
}

/// Handler of a route, for who has its right; one that changes the store works only where it may be changed.
fn guarded(shared: &Shared, Route { right, answer, .. }: Route) -> MethodRouter<Shared> {
    if right == Right::None {
        return answer;
    }
    answer.route_layer(middleware::from_fn_with_state(
        shared.clone(),
        move |visit: Result<Visit, Failure>, State(shared): State<Shared>, request: Request, next: Next| async move {
            let refused = match visit.and_then(|visit| Ok(visit.asker.may(right)?)) {
                Ok(()) if right.changes() && shared.settings.read_only => change::read_only(),
                Ok(()) => return next.run(request).await,
                Err(failure) => failure,
            };
            refused.into_response()
        },
    ))
}

async fn missing(request: Request) -> Response {
    Failure::unknown(format!("there is no {}", request.uri().path())).into_response()
}

async fn not_so(request: Request) -> Response {
    let text = format!("{} does not take {}", request.uri().path(), request.method());
    Failure::new(StatusCode::METHOD_NOT_ALLOWED, text).into_response()
}
