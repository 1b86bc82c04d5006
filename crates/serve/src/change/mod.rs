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

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

pub(crate) use labels::{LABELS, Labels, get as get_labels};

use axum::{
    body::Bytes,
    extract::{Path, rejection::BytesRejection},
    http::{Method, StatusCode},
    response::Response,
    routing::MethodRouter,
};
use fenxi_api::{ApiError, schema::OfAnswer};
use fenxi_model::RunId;
use fenxi_store::Store;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::{
    metrics::resident_bytes,
    reply::{Failure, json_reply},
    rights::Right,
    settings::Limits,
    shared::Shared,
    visit::{Route, Visit},
};

/// One thing that can be done.
pub(crate) struct Operation {
    /// Its method.
    pub(crate) method: Method,
    /// Its path, with its parameters in braces.
    pub(crate) path: &'static str,
    /// Its description.
    pub(crate) about: &'static str,
    /// Body of the request.
    pub(crate) takes: Takes,
    /// Description of the answer.
    pub(crate) gives: &'static str,
    /// The schema of that.
    pub(crate) schema: OfAnswer,
    /// The right that it needs.
    pub(crate) right: Right,
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

/// Every operation as a route.
pub(crate) fn routes() -> impl Iterator<Item = Route> {
    let route = |o: &&Operation| Route { method: o.method.clone(), path: o.path, right: o.right, answer: (o.route)() };
    OPERATIONS.iter().map(route)
}

/// The answer to what would change a store that is only read here.
pub(crate) fn read_only() -> Failure {
    Failure::forbidden("this server is read-only (--read-only)")
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

/// The store as who asks sees it, and the run that a path or body names, by id or any selector of one.
async fn one_run(visit: &Visit, selector: String) -> Result<(Store, RunId), Failure> {
    let visit = visit.clone();
    blocking(move || {
        let store = visit.store()?;
        let id = store.select_one(&selector)?;
        Ok((store, id))
    })
    .await
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

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Memory of this process that work for a request may take, and its deadline.
#[derive(Clone)]
struct Bounds {
    /// Resident bytes of this process at which it ends.
    most_memory: u64,
    until: Instant,
    gone: Arc<AtomicBool>,
}

impl Bounds {
    /// Bytes for work where this process has its memory already: memory freed by others is used again first.
    const SLACK: u64 = 16 << 20;

    fn new(limits: &Limits, time: Duration, gone: &Gone) -> Bounds {
        Bounds {
            most_memory: limits.memory_bytes.max(resident_bytes().unwrap_or(0) + Bounds::SLACK),
            until: Instant::now() + time,
            gone: Arc::clone(&gone.0),
        }
    }

    fn is_late(&self) -> bool {
        Instant::now() >= self.until
    }

    /// Whether it takes too long, or its client has gone.
    fn is_over(&self) -> bool {
        self.is_late() || self.gone.load(Ordering::Relaxed)
    }

    /// Whether so many bytes more fit.
    fn has_room(&self, bytes: u64) -> bool {
        resident_bytes().is_none_or(|resident| resident.saturating_add(bytes) <= self.most_memory)
    }
}

/// The answer to work that has taken all of its time.
fn too_late(work: &str, time: Duration, way_out: &str) -> Failure {
    let text =
        format!("stopped: {work} may take {} s, set with `fenxi serve --import-time`; {way_out}", time.as_secs_f64());
    Failure::new(StatusCode::REQUEST_TIMEOUT, text)
}

/// The answer where they do not: `instead` does it without a server.
fn no_room(instead: &str) -> Failure {
    let text = format!("it takes more memory than this server has, set with `fenxi serve --memory`; use `{instead}`");
    Failure::new(StatusCode::PAYLOAD_TOO_LARGE, text)
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
