//! `/api/v1/live`: live values as Server-Sent Events.
//!
//! Of this machine: one sampler for all listeners, which begins with the first and ends after the last. Of a run that
//! is being recorded: its streams are read as they grow.

mod follow;
pub(crate) mod status;
mod values;

use std::{
    convert::Infallible,
    ops::ControlFlow,
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
    time::Duration,
};

use axum::{
    extract::{RawQuery, State},
    http::StatusCode,
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use fenxi_record::{Plan, Stage};
use fenxi_report::api::Query;
use fenxi_source::{Root, SOURCES, Source};
use futures_util::{Stream, StreamExt};
use tokio::sync::broadcast;
use tokio_stream::wrappers::BroadcastStream;

use crate::{app::Shared, reply::Failure};

/// Seconds between two samples.
const INTERVAL_S: f64 = 1.0;
/// Ticks that a slow listener may be behind; then it misses some.
const BEHIND: usize = 8;
/// Listeners at the same time.
pub(crate) const MOST: usize = 200;
/// How often a silent stream says that it is still there, so that nothing between closes it.
const SIGN: Duration = Duration::from_secs(15);
/// Sources that are sampled for listeners: those of few rows. Processes and grids of interrupts are for recordings.
const SAMPLED: [&str; 14] = [
    "cpu",
    "cpu_time",
    "sched",
    "pressure",
    "mem",
    "vm",
    "tcp",
    "tcp_bytes",
    "udp",
    "disk",
    "fs",
    "net",
    "softnet",
    "page_cache",
];

/// The sampler that all listeners share.
pub(crate) struct Live {
    ticks: broadcast::Sender<Arc<str>>,
    is_sampling: Mutex<bool>,
}

impl Live {
    pub(crate) fn new() -> Live {
        Live { ticks: broadcast::channel(BEHIND).0, is_sampling: Mutex::new(false) }
    }
}

/// `GET /api/v1/live`.
pub(crate) async fn get(State(shared): State<Shared>, RawQuery(query): RawQuery) -> Result<Response, Failure> {
    let query = Query::parse(query.as_deref().unwrap_or_default());
    let listener = Listener::new(&shared)?;
    let events = match query.get("run") {
        Some(run) => follow::events(&shared, run)?.boxed(),
        None => machine(&shared).boxed(),
    };
    let stop = shared.stop.clone();
    let events = events.take_until(async move { stop.cancelled().await }).map(move |event| {
        // Held by the stream: the count goes down when the listener goes.
        let _ = &listener;
        Ok::<_, Infallible>(event)
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(SIGN)).into_response())
}

/// Ticks of this machine.
fn machine(shared: &Shared) -> impl Stream<Item = Event> + use<> {
    let mut is_sampling = shared.live.is_sampling.lock().unwrap_or_else(PoisonError::into_inner);
    let ticks = BroadcastStream::new(shared.live.ticks.subscribe());
    if !*is_sampling {
        *is_sampling = true;
        let shared = shared.clone();
        std::thread::spawn(move || sample(&shared));
    }
    // Who was too slow goes on with what is next.
    ticks.filter_map(|tick| async move { Some(Event::default().event("tick").data(&*tick.ok()?)) })
}

/// Samples until nobody listens.
fn sample(shared: &Shared) {
    let sampled = SOURCES.iter().copied().filter(|s| SAMPLED.contains(&s.spec().name));
    let sources = sampled.map(|source| Arc::new(source) as Arc<dyn Source>).collect();
    let plan = Plan {
        store: None,
        name: String::new(),
        host: shared.settings.host.clone(),
        tags: Default::default(),
        params: Default::default(),
        interval_s: INTERVAL_S,
        duration_s: None,
        sources,
        root: Root::live(),
        command: None,
        contained: None,
        random: 0,
        since_boot: false,
        whole: false,
    };
    let outcome = fenxi_record::record(plan, &mut |stage| {
        let Stage::Tick { t, rows, .. } = stage else { return ControlFlow::Continue(()) };
        let mut is_sampling = shared.live.is_sampling.lock().unwrap_or_else(PoisonError::into_inner);
        if shared.live.ticks.receiver_count() == 0 || shared.stop.is_cancelled() {
            // Said before the lock is given up: who listens from now on begins a sampler anew.
            *is_sampling = false;
            return ControlFlow::Break(());
        }
        let _ = shared.live.ticks.send(values::of_rows(t, rows).into());
        ControlFlow::Continue(())
    });
    if outcome.as_ref().is_ok_and(|o| o.interrupted.is_none()) {
        return;
    }
    *shared.live.is_sampling.lock().unwrap_or_else(PoisonError::into_inner) = false;
    // The sampler holds signals back for itself, so that one which ends the server may reach it alone.
    if outcome.is_ok() {
        shared.stop.cancel();
    }
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
