//! Downloads: archives of runs, and self-contained pages.

use std::{
    io::{self, Write},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use axum::{
    body::{Body, Bytes},
    extract::{Path, RawQuery},
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use fenxi_api::Query;
use fenxi_model::RunId;
use fenxi_store::Store;
use futures_util::{StreamExt, future::ready};
use tokio::{
    runtime::Handle,
    sync::mpsc::{Sender, channel},
};
use tokio_stream::wrappers::ReceiverStream;

use crate::{
    change::blocking,
    pool::{Refused, Weight},
    reply::{Failure, reply},
    response_budget::held,
    visit::Visit,
};

/// Where one run is given.
pub(crate) const EXPORT: &str = "/api/v1/runs/{id}/export";
/// Where several runs are given, as one archive.
pub(crate) const EXPORT_MANY: &str = "/api/v1/export";
/// Where a page is given as one file.
pub(crate) const REPORT: &str = "/api/v1/report";

/// Pieces of an archive that wait for a slow client.
const AHEAD: usize = 4;
/// Bytes of a piece.
const PIECE: usize = 256 << 10;
/// Runs of one archive.
const MOST_RUNS: usize = 100_000;
/// Time that an archive waits for its turn.
const WAIT: Duration = Duration::from_secs(5);
/// Time for which a client may take nothing while others wait for a turn.
const PATIENCE_OF_OTHERS: Duration = Duration::from_secs(2);
/// Time between two looks at whether others wait.
const LOOK: Duration = Duration::from_millis(250);

/// `GET /api/v1/runs/{id}/export`.
pub(crate) async fn export(
    visit: Visit,
    id: Result<Path<String>, axum::extract::rejection::PathRejection>,
) -> Result<Response, Failure> {
    let Path(id) = id.map_err(|_| Failure::wrong("the path is not UTF-8"))?;
    archive(&visit, vec![id]).await
}

/// `GET /api/v1/export?run=…&run=…`.
pub(crate) async fn export_many(visit: Visit, RawQuery(query): RawQuery) -> Result<Response, Failure> {
    let query = Query::parse(query.as_deref().unwrap_or_default());
    archive(&visit, query.all("run").map(str::to_owned).collect()).await
}

/// The archive of the runs that selectors name, written while it is sent: it is never whole in memory.
async fn archive(visit: &Visit, selectors: Vec<String>) -> Result<Response, Failure> {
    let (store, runs) = selected(visit, selectors).await?;
    let [first, ..] = runs.as_slice() else { return Err(Failure::wrong("`run` is missing")) };
    let name = if runs.len() == 1 { first.to_string() } else { format!("{}-runs", runs.len()) };
    let place = visit.exports.take(WAIT).await?;
    let (sender, receiver) = channel(AHEAD);
    let is_whole = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&is_whole);
    let mut pieces = Pieces {
        sender,
        piece: Vec::with_capacity(PIECE),
        runtime: Handle::current(),
        patience: visit.settings.limits.patience,
        others: visit.exports.waiting(),
    };
    tokio::task::spawn_blocking(move || {
        let _place = place;
        let written = store.export(&runs, &mut pieces).map(drop).map_err(io::Error::other);
        ended.store(written.and_then(|()| pieces.flush()).is_ok(), Ordering::Release);
    });
    // The only way to say it when the head has gone: the connection breaks off, and the archive has no end.
    let broken = move |()| (!is_whole.load(Ordering::Acquire)).then(|| Err(io::ErrorKind::BrokenPipe.into()));
    let end = futures_util::stream::iter([()]).filter_map(move |end| ready(broken(end)));
    let pieces = ReceiverStream::new(receiver).map(io::Result::Ok).chain(end);
    let mut response = reply(StatusCode::OK, "application/zstd", Body::from_stream(pieces));
    as_file(&mut response, &format!("{name}.tar.zst"));
    Ok(response)
}

/// The store as who asks sees it, and the runs that selectors name, looked for as long as an answer may take and somebody waits for it.
async fn selected(visit: &Visit, selectors: Vec<String>) -> Result<(Store, Vec<RunId>), Failure> {
    let asked_by = visit.clone();
    let limit = visit.settings.limits.time;
    let waits = Arc::new(());
    let asked = Arc::downgrade(&waits);
    let found = blocking(move || {
        let begun = Instant::now();
        let store = asked_by.store()?;
        let mut runs = Vec::new();
        for selector in selectors {
            if begun.elapsed() > limit || asked.strong_count() == 0 {
                return Err(Refused::TooLong(limit).into());
            }
            runs.extend(store.select(&selector)?);
            // Names may be those of many, and may be given many times.
            if runs.len() > MOST_RUNS {
                return Err(Failure::wrong(format!("more than {MOST_RUNS} runs; use `fenxi store export`")));
            }
        }
        Ok((store, runs))
    });
    let found = found.await;
    drop(waits);
    found
}

/// Lets the browser keep a response under a name, which has no character that a header could misread.
fn as_file(response: &mut Response, name: &str) {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    let name: String = name.chars().map(safe).collect();
    if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{name}\"")) {
        response.headers_mut().insert(header::CONTENT_DISPOSITION, value);
    }
}

/// Sends what is written, piece by piece.
struct Pieces {
    sender: Sender<Bytes>,
    piece: Vec<u8>,
    runtime: Handle,
    /// How long a client may take nothing.
    patience: Duration,
    /// How many wait for a turn: then there is less patience.
    others: Arc<AtomicUsize>,
}

impl Pieces {
    fn send(&self, piece: Bytes) -> io::Result<()> {
        let begun = Instant::now();
        loop {
            match self.runtime.block_on(tokio::time::timeout(LOOK, self.sender.reserve())) {
                Ok(Ok(place)) => {
                    place.send(piece);
                    return Ok(());
                }
                Ok(Err(_)) => return Err(io::Error::new(io::ErrorKind::BrokenPipe, "the client has gone")),
                Err(_) => {}
            }
            let are_others = self.others.load(Ordering::Relaxed) > 0;
            let patience = if are_others { PATIENCE_OF_OTHERS.min(self.patience) } else { self.patience };
            if begun.elapsed() > patience {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the client takes nothing"));
            }
        }
    }
}

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.piece.is_empty() {
            return Ok(());
        }
        let piece = std::mem::replace(&mut self.piece, Vec::with_capacity(PIECE));
        self.send(Bytes::from(piece))
    }
}

/// `GET /api/v1/report?page=…`.
pub(crate) async fn report(visit: Visit, RawQuery(query): RawQuery) -> Result<Response, Failure> {
    let query = Query::parse(query.as_deref().unwrap_or_default());
    let page = query.required("page")?.to_owned();
    let work = move |context: &fenxi_api::Context<'_>| fenxi_api::page_file(context, &page);
    let html = visit.pool.ask(Weight::Free, &visit.asker, visit.settings.read_only, work).await?;
    let mut response = held(&visit, StatusCode::OK, "text/html; charset=utf-8", html).await?;
    // To be kept, not shown: what is shown here has this server's rights.
    as_file(&mut response, "report.html");
    Ok(response)
}
