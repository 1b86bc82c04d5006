//! Files to take away: archives of runs, and pages with everything in them.

use std::io::{self, Write};

use axum::{
    body::{Body, Bytes},
    extract::{Path, RawQuery, State},
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use fenxi_model::RunId;
use fenxi_report::api::Query;
use tokio::sync::mpsc::{Sender, channel};
use tokio_stream::wrappers::ReceiverStream;

use crate::{
    app::Shared,
    change::blocking,
    pool::Weight,
    reply::{Failure, reply},
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

/// `GET /api/v1/runs/{id}/export`.
pub(crate) async fn export(
    State(shared): State<Shared>,
    id: Result<Path<String>, axum::extract::rejection::PathRejection>,
) -> Result<Response, Failure> {
    let Path(id) = id.map_err(|_| Failure::wrong("the path is not UTF-8"))?;
    archive(&shared, vec![id]).await
}

/// `GET /api/v1/export?run=…&run=…`.
pub(crate) async fn export_many(State(shared): State<Shared>, RawQuery(query): RawQuery) -> Result<Response, Failure> {
    let query = Query::parse(query.as_deref().unwrap_or_default());
    archive(&shared, query.all("run").map(str::to_owned).collect()).await
}

/// The archive of the runs that selectors name, written while it is sent: it is never whole in memory.
async fn archive(shared: &Shared, selectors: Vec<String>) -> Result<Response, Failure> {
    let store = shared.settings.store.clone();
    let runs: Vec<RunId> = blocking(move || {
        let mut runs = Vec::new();
        for selector in selectors {
            runs.extend(store.select(&selector)?);
        }
        Ok(runs)
    })
    .await?;
    let [first, ..] = runs.as_slice() else { return Err(Failure::wrong("`run` is missing")) };
    let name = if runs.len() == 1 { first.to_string() } else { format!("{}-runs", runs.len()) };
    let (sender, receiver) = channel(AHEAD);
    let store = shared.settings.store.clone();
    tokio::task::spawn_blocking(move || {
        let mut pieces = Pieces { sender, piece: Vec::with_capacity(PIECE) };
        let written = store.export(&runs, &mut pieces).map(drop).map_err(io::Error::other);
        if let Err(error) = written.and_then(|()| pieces.flush()) {
            // The only way to say it when the head has gone: the connection breaks off, and the archive has no end.
            let _ = pieces.sender.blocking_send(Err(error));
        }
    });
    let mut response = reply(StatusCode::OK, "application/zstd", Body::from_stream(ReceiverStream::new(receiver)));
    as_file(&mut response, &format!("{name}.tar.zst"));
    Ok(response)
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
    sender: Sender<io::Result<Bytes>>,
    piece: Vec<u8>,
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
        let sent = self.sender.blocking_send(Ok(Bytes::from(piece)));
        sent.map_err(|_| io::Error::new(io::ErrorKind::BrokenPipe, "the client has gone"))
    }
}

/// `GET /api/v1/report?page=…`.
pub(crate) async fn report(State(shared): State<Shared>, RawQuery(query): RawQuery) -> Result<Response, Failure> {
    let query = Query::parse(query.as_deref().unwrap_or_default());
    let page = query.required("page")?.to_owned();
    let work = move |context: &fenxi_report::api::Context<'_>| fenxi_report::page_file(context, &page);
    let html = shared.pool.ask(Weight::Free, shared.settings.read_only, work).await?;
    let mut response = reply(StatusCode::OK, "text/html; charset=utf-8", html);
    // To be kept, not shown: what is shown here has this server's rights.
    as_file(&mut response, "report.html");
    Ok(response)
}
