//! `/api/v1/live`: live values as Server-Sent Events.
//!
//! Of this machine: one sampler for all listeners of the same sources (`sampler.rs`). Of a run that is being recorded: its
//! streams are read as they grow. Of sealed runs: their labels, as people change them.

mod databases;
mod follow;
mod labels;
mod sampler;
mod samplers;
pub(crate) mod status;
mod values;

use std::{convert::Infallible, sync::atomic::Ordering, time::Duration};

use axum::{
    extract::RawQuery,
    http::StatusCode,
    response::{
        IntoResponse, Response,
        sse::{KeepAlive, Sse},
    },
};
use fenxi_api::Query;
use futures_util::StreamExt;

pub(crate) use samplers::Samplers;

use crate::{change::blocking, reply::Failure, rights::Right, shared::Shared, visit::Visit};

/// Listeners at the same time.
pub(crate) const MOST: usize = 200;
/// How often a silent stream sends a sign of life, so that nothing between closes it.
const SIGN: Duration = Duration::from_secs(15);

/// `GET /api/v1/live`.
pub(crate) async fn get(visit: Visit, RawQuery(query): RawQuery) -> Result<Response, Failure> {
    let query = Query::parse(query.as_deref().unwrap_or_default());
    let listener = Listener::new(&visit)?;
    let shared = visit.shared.clone();
    let labelled: Vec<String> = query.all("labels").map(str::to_owned).collect();
    let events = match query.get("run") {
        _ if !labelled.is_empty() => labels::events(&visit, labelled).await?.boxed(),
        Some(run) => {
            let run = run.to_owned();
            blocking(move || follow::events(&visit.store()?, &run)).await?.boxed()
        }
        None => {
            visit.asker.may(Right::SeeAll)?;
            let source = query.get("source");
            let recorded = if source.is_none() { past(&shared).await? } else { Vec::new() };
            sampler::ticks(&shared, source, recorded)?.boxed()
        }
    };
    let stop = shared.stop.clone();
    let events = events.take_until(async move { stop.cancelled().await }).map(move |event| {
        // Held by the stream: the count goes down when the listener goes.
        let _ = &listener;
        Ok::<_, Infallible>(event)
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(SIGN)).into_response())
}

/// Ticks of this machine's latest recording until now.
async fn past(shared: &Shared) -> Result<Vec<values::Tick>, Failure> {
    let shared = shared.clone();
    blocking(move || Ok(follow::past(&shared))).await
}

/// Counted for as long as it listens.
struct Listener(Shared);

impl Listener {
    fn new(shared: &Shared) -> Result<Listener, Failure> {
        let before = shared.metrics.listeners.fetch_add(1, Ordering::Relaxed);
        let listener = Listener(shared.clone());
        if before >= MOST as i64 {
            return Err(Failure::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "too many clients are listening; try again soon",
            ));
        }
        Ok(listener)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.0.metrics.listeners.fetch_sub(1, Ordering::Relaxed);
    }
}
