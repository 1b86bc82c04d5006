//! `POST /api/v1/import`: imports an uploaded file, or the runs of an archive.
//!
//! The file is written beside the store first, never into memory, and only then looked at. Its name is only a name.

use std::{
    io,
    path::PathBuf,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use axum::{
    body::Body,
    extract::RawQuery,
    http::{Method, StatusCode},
    response::Response,
    routing::post,
};
use fenxi_api::{Query, schema};
use fenxi_ingest::{Content, Growth, ImportError, Plan, Programs, Source, UnpackBudget, expand, import, own_formats};
use fenxi_model::{Micros, RunId};
use fenxi_store::{ArchiveLimits, GoOn, Scratch, Store, StoreError, is_archive};
use fs_err as fs;
use futures_util::StreamExt;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::{io::AsyncWriteExt, sync::OwnedSemaphorePermit};

use super::{Bounds, Gone, Operation, Takes, blocking, done, no_room, random, too_late};
use crate::{
    queue::Turns,
    reply::Failure,
    rights::{PROJECT, Right},
    visit::Visit,
};

pub(super) const POST: Operation = Operation {
    method: Method::POST,
    path: "/api/v1/import",
    about: "Takes in an archive of runs as `GET /api/v1/runs/{id}/export` gives it, or imports a file that another tool \
            wrote, packed or not, or a tar or zip archive of such files; which it is, is detected by its content. Nothing is \
            kept if the client disconnects before the end.",
    takes: Takes::File("The file"),
    gives: "The ids of the `runs`; runs that the store had already are among them",
    schema: schema::of::<Imported>,
    right: Right::Write,
    route: || post(take),
};

/// Runs that were imported.
#[derive(JsonSchema, Serialize)]
struct Imported {
    /// Their ids.
    #[schemars(with = "Vec<String>")]
    runs: Vec<RunId>,
}

/// How many times the limit of an upload one may unpack to, with all that is in it.
const UNPACKED: u64 = 20;
/// How much more an upload, and each archive in it, may unpack to than it has. Logs shrink ten times, those of an idle machine
/// fifty times.
const GROWTH: Growth = Growth { bytes: 256 << 20, times: 200 };
/// Bytes of manifests and labels in an archive.
const TEXT: u64 = 64 << 20;
/// Rows that an upload may become.
const MOST_ROWS: u64 = 200_000_000;
/// Files that an uploaded tar or zip archive may hold.
const MOST_MEMBERS: usize = 10_000;
/// Characters of a file's name that are kept.
const LONGEST_NAME: usize = 200;
/// Time that an upload waits for its turn.
const WAIT: Duration = Duration::from_secs(5);
/// Bytes that an upload may have before it needs a turn: a client that sends a little at a time keeps no others waiting.
const SMALL: u64 = 1 << 20;
/// Bytes that a larger one has to bring in each [`STRETCH`] while others wait for a turn.
const PACE: u64 = 128 << 10;
/// Time over which that is counted.
const STRETCH: Duration = Duration::from_secs(2);
/// Time between two looks at whether others wait.
const LOOK: Duration = Duration::from_millis(250);

async fn take(visit: Visit, RawQuery(query): RawQuery, body: Body) -> Result<Response, Failure> {
    let query = Query::parse(query.as_deref().unwrap_or_default());
    let name = plain_name(query.get("filename").unwrap_or("upload"));
    let limits = &visit.settings.limits;
    let project = query.get(PROJECT).map(str::to_owned);
    let store = {
        let visit = visit.clone();
        blocking(move || Ok(visit.store()?)).await?
    };
    let upload = Upload::new(&store)?;
    let (bytes, place) = receive(body, &upload, limits.upload_bytes, &visit.uploads).await?;
    let turn = visit.imports.take(limits.time).await?;
    let gone = Gone::default();
    let taking = Taking {
        store,
        name,
        project,
        now: (visit.settings.now)(),
        unpacked: limits.upload_bytes.saturating_mul(UNPACKED).min(GROWTH.of(bytes)),
        bounds: Bounds::new(limits, limits.import_time, &gone),
    };
    let time = limits.import_time;
    let runs = blocking(move || {
        let _turns = (place, turn);
        let taken = taking.run(&upload);
        // Whatever it failed with, this is why.
        taken.map_err(|failure| {
            if taking.bounds.is_late() {
                too_late("an import", time, "split the file, or use `fenxi import`")
            } else {
                failure
            }
        })
    });
    let runs = runs.await?;
    drop(gone);
    done(&Imported { runs })
}

/// An upload that becomes runs.
struct Taking {
    store: Store,
    name: String,
    /// The project of what becomes a run; None: that of who sends it, or none.
    project: Option<String>,
    now: Micros,
    /// Bytes to which it may unpack, with all that is in it.
    unpacked: u64,
    bounds: Bounds,
}

impl Taking {
    fn run(&self, upload: &Upload) -> Result<Vec<RunId>, Failure> {
        let open = || fs::File::open(&upload.path).map_err(StoreError::from);
        if is_archive(open()?).map_err(StoreError::from)? {
            return self.take_in(open()?);
        }
        self.import(upload)
    }

    /// Takes in an archive of runs.
    fn take_in(&self, archive: fs::File) -> Result<Vec<RunId>, Failure> {
        let limits = ArchiveLimits {
            bytes: self.unpacked,
            runs: 10_000,
            files: 1_000_000,
            text: TEXT,
            ..ArchiveLimits::default()
        };
        let taken = self.store.import_archive(Until { inner: archive, taking: self }, &limits).map_err(refused)?;
        // Who has the very bytes of a run of another project is not to believe that it is in their own.
        if let Some(run) = taken.iter().find(|run| !self.store.knows(&run.id)) {
            let text =
                format!("run {} is here already, in a project that is not yours; an admin can change that", run.id);
            return Err(Failure::new(StatusCode::CONFLICT, text));
        }
        Ok(taken.into_iter().map(|run| run.id).collect())
    }

    /// Imports what another tool wrote.
    fn import(&self, upload: &Upload) -> Result<Vec<RunId>, Failure> {
        let (store, name) = (self.store.clone(), self.name.clone());
        let content = Content::File(upload.path.clone());
        let source = Source { name: name.clone(), content, host: None, modified: None };
        let stopped = || self.bounds.is_over();
        let mut budget = UnpackBudget {
            folder: upload.folder(),
            members: MOST_MEMBERS,
            bytes: self.unpacked,
            growth: Some(GROWTH),
            stopped: &stopped,
        };
        let sources = expand(source, &mut budget).map_err(|e| Failure::wrong(e.to_string()))?;
        // An upload is given to no program of the store; its patterns may read it.
        let formats = own_formats(&store, &Programs::Never).formats;
        let most_bytes = Some(budget.bytes);
        let bounds = self.bounds.clone();
        let go_on = Some(GoOn::while_true(move || bounds.has_room(0) && !bounds.is_over()));
        let tags = self.project.iter().map(|project| (PROJECT.to_owned(), project.clone())).collect();
        let plan = Plan { tags, formats, most_bytes, go_on, ..Plan::new(store, name, sources, self.now, random()) };
        let (mut within, mut fits) = (true, true);
        let outcome = import(&plan, &mut |progress| {
            within = progress.rows <= MOST_ROWS;
            // Names and values that come once each take memory.
            fits = fits && self.bounds.has_room(0);
            within && fits && !self.bounds.is_over()
        });
        match outcome {
            Ok(outcome) => Ok(outcome.run.into_iter().chain(outcome.already).collect()),
            Err(ImportError::TooLong(_)) => {
                Err(too_large(format!("it unpacks to more than the {} bytes that are accepted here", self.unpacked)))
            }
            Err(ImportError::Store(StoreError::Stopped)) => Err(no_room("fenxi import")),
            Err(_) if !fits => Err(no_room("fenxi import")),
            Err(_) if !within => Err(too_large(format!("more than {MOST_ROWS} rows; use `fenxi import`"))),
            Err(ImportError::Store(error @ StoreError::Unknown { .. })) => Err(meanwhile(&error)),
            Err(ImportError::Store(error)) => Err(error.into()),
            Err(error) => Err(Failure::wrong(error.to_string())),
        }
    }
}

/// A run that an import looked at is not there any more: nothing that its sender asked for.
fn meanwhile(error: &StoreError) -> Failure {
    let text = format!("the store changed during the import ({error}); nothing was imported; try again");
    Failure::new(StatusCode::SERVICE_UNAVAILABLE, text)
}

/// Reader of a file, which fails once its import is to end.
struct Until<'a> {
    inner: fs::File,
    taking: &'a Taking,
}

impl io::Read for Until<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.taking.bounds.is_over() {
            return Err(io::Error::other("it is to end"));
        }
        self.inner.read(into)
    }
}

fn too_large(text: String) -> Failure {
    Failure::new(StatusCode::PAYLOAD_TOO_LARGE, text)
}

/// An archive that is refused is a fault of the request, not of the store.
fn refused(error: StoreError) -> Failure {
    match error {
        StoreError::Archive { .. } => Failure::wrong(error.to_string()),
        StoreError::ArchiveLimit { .. } => Failure::new(StatusCode::PAYLOAD_TOO_LARGE, error.to_string()),
        StoreError::Differs { .. } => Failure::new(StatusCode::CONFLICT, error.to_string()),
        error => error.into(),
    }
}

/// Writes a body into a file, as it comes; gives its length, and the turn that a larger one took.
async fn receive(
    body: Body,
    upload: &Upload,
    limit: u64,
    turns: &Turns,
) -> Result<(u64, Option<OwnedSemaphorePermit>), Failure> {
    let failed = |e: io::Error| Failure::from(StoreError::from(e));
    let mut file = tokio::fs::File::create(&upload.path).await.map_err(failed)?;
    let mut pieces = body.into_data_stream();
    let (mut bytes, mut place) = (0u64, None);
    let (mut since, mut before) = (Instant::now(), 0);
    let waiting = turns.waiting();
    loop {
        let came = tokio::time::timeout(LOOK, pieces.next()).await;
        if since.elapsed() >= STRETCH {
            if place.is_some() && bytes - before < PACE && waiting.load(Ordering::Relaxed) > 0 {
                let text = "the upload is too slow while others wait for a turn; try again later";
                return Err(Failure::new(StatusCode::REQUEST_TIMEOUT, text));
            }
            (since, before) = (Instant::now(), bytes);
        }
        let piece = match came {
            Ok(Some(piece)) => piece.map_err(|_| Failure::wrong("the upload ended too early"))?,
            Ok(None) => break,
            Err(_) => continue,
        };
        bytes += piece.len() as u64;
        if bytes > limit {
            return Err(Failure::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                format!("an upload may have {limit} bytes, set with `fenxi serve --upload`"),
            ));
        }
        if bytes > SMALL && place.is_none() {
            place = Some(turns.take(WAIT).await?);
            (since, before) = (Instant::now(), bytes);
        }
        file.write_all(&piece).await.map_err(failed)?;
    }
    if bytes == 0 {
        return Err(Failure::wrong("the upload is empty"));
    }
    file.flush().await.map_err(failed)?;
    Ok((bytes, place))
}

/// A file beside the runs that is removed when it is dropped; of a server that was killed, by the next command.
struct Upload {
    path: PathBuf,
    scratch: Scratch,
}

impl Upload {
    fn new(store: &Store) -> Result<Upload, Failure> {
        let scratch = store.scratch()?;
        Ok(Upload { path: scratch.path("upload"), scratch })
    }

    /// The folder in which it lies.
    fn folder(&self) -> PathBuf {
        self.scratch.dir().to_owned()
    }
}

/// The last part of a path, without anything that is no name.
fn plain_name(text: &str) -> String {
    let last = text.rsplit(['/', '\\']).next().unwrap_or_default();
    let name: String = last.chars().filter(|c| !c.is_control()).take(LONGEST_NAME).collect();
    if name.is_empty() || name == "." || name == ".." { "upload".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::plain_name;

    #[test]
    fn a_name_is_no_path() {
        for (given, name) in [
            ("mpstat.log", "mpstat.log"),
            ("/etc/passwd", "passwd"),
            ("..\\..\\a.csv", "a.csv"),
            ("a/..", "upload"),
            ("\u{0}\n", "upload"),
        ] {
            assert_eq!(plain_name(given), name, "{given:?}");
        }
    }
}
