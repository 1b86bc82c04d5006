//! Write operations on the store: labels, marks, windows, runs, averages, questions, uploads. One list, from which paths and
//! the OpenAPI description are made.

mod average;
mod exchange;
mod labels;
mod mark;
mod question;
mod run;
mod sql;
mod upload;
mod window;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

pub(crate) use labels::{LABELS, Labels, get as get_labels};

use axum::{
    Router,
    body::Bytes,
    extract::{Path, State, rejection::BytesRejection},
    http::{Method, StatusCode},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::MethodRouter,
};
use fenxi_api::{ApiError, schema::OfAnswer};
use fenxi_model::RunId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::{
    reply::{Failure, json_reply},
    shared::Shared,
};

/// One thing that can be done.
pub(crate) struct Operation {
    /// Its method.
    pub(crate) method: Method,
    /// Its path, with its parameters in braces.
    pub(crate) path: &'static str,
    /// What it does.
    pub(crate) about: &'static str,
    /// What is sent.
    pub(crate) takes: Takes,
    /// What is answered.
    pub(crate) gives: &'static str,
    /// The schema of that.
    pub(crate) schema: OfAnswer,
    /// Whether it changes the store.
    pub(crate) changes: bool,
    route: fn() -> MethodRouter<Shared>,
}

/// The body of a request.
pub(crate) enum Takes {
    /// None.
    Nothing,
    /// JSON of a schema.
    Json(fn() -> Value),
    /// Text.
    Text(&'static str),
    /// A file; its name is the parameter `filename`.
    File(&'static str),
}

/// Everything that can be done.
pub(crate) const OPERATIONS: &[&Operation] = &[
    &labels::PUT,
    &run::DELETE,
    &mark::POST,
    &mark::DELETE,
    &window::PUT,
    &window::DELETE,
    &average::POST,
    &question::PUT,
    &question::DELETE,
    &upload::POST,
    &exchange::POST,
    &sql::POST,
];

/// Adds every operation.
pub(crate) fn routes(shared: &Shared, mut router: Router<Shared>) -> Router<Shared> {
    for operation in OPERATIONS {
        let mut route = (operation.route)();
        if operation.changes {
            route = route.route_layer(middleware::from_fn_with_state(shared.clone(), writable));
        }
        router = router.route(operation.path, route);
    }
    router
}

/// Turns away what would change a store that is only read here.
async fn writable(State(shared): State<Shared>, request: axum::extract::Request, next: Next) -> Response {
    if shared.settings.read_only {
        return Failure::forbidden("this server is read-only (--read-only)").into_response();
    }
    next.run(request).await
}

/// The body of a request, whole.
type Body = Result<Bytes, BytesRejection>;
/// The parameters in a path.
type Named<T> = Result<Path<T>, axum::extract::rejection::PathRejection>;

fn bytes(body: Body) -> Result<Bytes, Failure> {
    body.map_err(|e| match e.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Failure::new(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large"),
        _ => Failure::wrong("the body ended too early"),
    })
}

fn json_body<T: DeserializeOwned>(body: Body) -> Result<T, Failure> {
    let bytes = bytes(body)?;
    serde_json::from_slice(&bytes).map_err(|e| Failure::wrong(format!("the body is not the JSON expected: {e}")))
}

fn named<T>(path: Named<T>) -> Result<T, Failure> {
    path.map(|Path(value)| value).map_err(|_| Failure::wrong("the path is not UTF-8"))
}

/// The run that a path or body names, by id or any selector of one.
async fn one_run(shared: &Shared, selector: String) -> Result<RunId, Failure> {
    let store = shared.settings.store.clone();
    blocking(move || Ok(store.select_one(&selector)?)).await
}

/// Threads that read and write files for requests at the same time; others wait for their turn.
static THREADS: Semaphore = Semaphore::const_new(32);

/// Does what reads or writes files beside the threads that serve.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    // Given back when the work has ended, whether anybody still waits for it or not.
    let turn = THREADS.acquire().await.map_err(|_| Failure::ending())?;
    let work = move || {
        let _turn = turn;
        work()
    };
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| {
        Err(Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "this failed unexpectedly; please report it"))
    })
}

/// Cancels the work when it is dropped with the request.
#[derive(Default)]
struct Gone(Arc<AtomicBool>);

impl Gone {
    /// Whether that is so.
    fn told(&self) -> impl Fn() -> bool + Send + use<> {
        let gone = Arc::clone(&self.0);
        move || gone.load(Ordering::Relaxed)
    }
}

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What was removed.
#[derive(JsonSchema, Serialize)]
struct Removed {
    /// Its id or name.
    removed: String,
}

/// The answer to what was done.
fn done(value: &impl Serialize) -> Result<Response, Failure> {
    Ok(json_reply(StatusCode::OK, serde_json::to_string(value).map_err(ApiError::from)?))
}

/// A number that distinguishes the id of a new run from that of another which began in the same second.
fn random() -> u64 {
    let mut bytes = [0u8; 8];
    // Two runs of one second are told apart all the same: the store takes the next free id.
    let _ = getrandom::fill(&mut bytes);
    u64::from_le_bytes(bytes)
}

/// A field that may be missing, null or there.
fn given<'de, T: Deserialize<'de>, D: serde::Deserializer<'de>>(reader: D) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(reader).map(Some)
}

fn text_schema(about: &str) -> Value {
    json!({ "type": "string", "description": about })
}
