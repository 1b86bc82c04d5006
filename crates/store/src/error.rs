//! Store errors, with the way out.

use std::{io, path::PathBuf};

use fenxi_model::{RunId, SelectorError};

/// An operation on a store that failed. The text names the file and, where there is one, the way out.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No `store.json` there.
    #[error(
        "{path} is not a fenxi store: `fenxi record` or `fenxi import` makes one there, \
         `--store DIR` or FENXI_STORE names another"
    )]
    NotAStore {
        /// The directory that was asked for.
        path: PathBuf,
    },
    /// The directory holds something else; it is left alone.
    #[error("{path} is neither empty nor a fenxi store: give an empty or a new directory with `--store DIR`")]
    Occupied {
        /// The directory that was asked for.
        path: PathBuf,
    },
    /// Written by a later fenxi.
    #[error("{path} has format version {found}, this fenxi knows {known}: use a newer fenxi")]
    Version {
        /// The file that carries the version.
        path: PathBuf,
        /// The version found.
        found: u32,
        /// The version known.
        known: u32,
    },
    /// The caller let sealing end.
    #[error("sealing was stopped; nothing was kept")]
    Stopped,
    /// A file whose content cannot be what was written.
    #[error("{path} is damaged: {why}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Description of the damage.
        why: String,
    },
    /// No run answers to the selector.
    #[error("no run matches `{selector}`{}", hint(.near))]
    Unknown {
        /// The selector.
        selector: String,
        /// Names and ids that look like it.
        near: Vec<String>,
    },
    /// Several runs answer where one was asked for.
    #[error("`{selector}` matches {} runs: {}; give a longer prefix of the id", .candidates.len(), some_of(.candidates))]
    Ambiguous {
        /// The selector.
        selector: String,
        /// All runs it names, newest first.
        candidates: Vec<RunId>,
    },
    /// A range of time that has no length.
    #[error("`{range}` has no length: the end is not after the begin")]
    EmptyRange {
        /// The range.
        range: String,
    },
    /// Nothing was recorded in a range of time.
    #[error("nothing was recorded in `{range}` ({asked}); {there}")]
    NothingInRange {
        /// The range.
        range: String,
        /// The range in absolute times.
        asked: String,
        /// Description of the recordings that there are.
        there: String,
    },
    /// Several recordings have something of a range of time.
    #[error("`{range}` was recorded by several: {}; say of which, as in `{}/{range}`", .series.join(", "), .series.first().map_or("", String::as_str))]
    SeveralSeries {
        /// The range.
        range: String,
        /// Their names.
        series: Vec<String>,
    },
    /// A range of time where a run is wanted that can be changed.
    #[error(
        "`{id}` is a range of time, which was cut from runs and is not a run itself: name the runs, `fenxi runs` lists them"
    )]
    IsRange {
        /// The range.
        id: RunId,
    },
    /// A text that cannot name a run.
    #[error(transparent)]
    Selector(#[from] SelectorError),
    /// The run is still being recorded.
    #[error("run {id} is still being recorded: stop its recorder first")]
    Recording {
        /// The run.
        id: RunId,
    },
    /// Somebody else holds a lock for longer than anybody should.
    #[error(
        "another fenxi process has held {path} for {seconds} s: wait for it to finish (`fuser {path}` shows it), then retry"
    )]
    Busy {
        /// The lock.
        path: PathBuf,
        /// How long was waited.
        seconds: u64,
    },
    /// The run could not be sealed; what was recorded is kept.
    #[error("run {id} could not be sealed: {cause}; nothing is lost, the next fenxi command tries again from {kept}")]
    Seal {
        /// The run.
        id: RunId,
        /// Where the recording is kept.
        kept: PathBuf,
        /// The error that sealing ended with.
        #[source]
        cause: Box<StoreError>,
    },
    /// An archive of runs that is none, or not as it was written.
    #[error("the archive {why}; nothing of it was imported")]
    Archive {
        /// Description of the fault.
        why: String,
    },
    /// An archive of runs that is larger than is accepted.
    #[error("the archive has more {what} than is accepted here; nothing of it was imported")]
    ArchiveLimit {
        /// The quantity that is too large.
        what: String,
    },
    /// An archive has a run whose id another run here has.
    #[error(
        "there is another run {id} here, with other content: remove it first (`fenxi store rm {id}`), or take the archive into \
         another store with `--store DIR`; nothing was imported"
    )]
    Differs {
        /// The run.
        id: RunId,
    },
    /// A handle that knows only runs with a tag would lose sight of one.
    #[error("the tag `{key}` of a run that is made or changed here must be one of: {values}")]
    Filed {
        /// The tag.
        key: String,
        /// The values that it may have.
        values: String,
    },
    /// A file operation failed; the text names the file.
    #[error("{source}{}", way_out(.source))]
    Io {
        /// The operating system's answer.
        #[from]
        source: io::Error,
    },
    /// A Parquet file could not be written or read.
    #[error("{path}: {source}")]
    Parquet {
        /// The file.
        path: PathBuf,
        /// The format library's answer.
        source: parquet::errors::ParquetError,
    },
    /// A stream or a batch could not be written or read.
    #[error("{path}: {source}")]
    Arrow {
        /// The file.
        path: PathBuf,
        /// The format library's answer.
        source: arrow_schema::ArrowError,
    },
}

impl StoreError {
    /// A damaged file at `path`.
    pub(crate) fn damaged(path: impl Into<PathBuf>, why: impl ToString) -> StoreError {
        StoreError::Damaged { path: path.into(), why: why.to_string() }
    }

    /// Returns true if a file is not there.
    pub fn is_not_found(&self) -> bool {
        matches!(self, StoreError::Io { source } if source.kind() == io::ErrorKind::NotFound)
    }

    /// Returns true if there is no room on the disk, or no more of it for this user.
    pub fn is_full(&self) -> bool {
        let full = |kind| matches!(kind, io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        let mut next: Option<&(dyn std::error::Error + 'static)> = Some(self);
        while let Some(error) = next {
            if error.downcast_ref::<io::Error>().is_some_and(|io| full(io.kind())) {
                return true;
            }
            next = error.source();
        }
        matches!(self, StoreError::Io { source } if full(source.kind()))
    }
}

fn hint(near: &[String]) -> String {
    match near {
        [] => "; `fenxi runs` lists them, and `@1` is the latest".to_owned(),
        near => format!("; did you mean {}?", near.join(", ")),
    }
}

fn some_of(candidates: &[RunId]) -> String {
    let mut names: Vec<&str> = candidates.iter().take(5).map(RunId::as_str).collect();
    if candidates.len() > names.len() {
        names.push("…");
    }
    names.join(", ")
}

/// Advice on an error of the file system; empty where nothing is known.
fn way_out(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            ": make room, or use another store with `--store DIR`"
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            ": the store cannot be written here, use another with `--store DIR` or FENXI_STORE"
        }
        // The error does not show whether the file was read or written.
        io::ErrorKind::PermissionDenied => {
            ": you may not read or write the store there, use another with `--store DIR` or FENXI_STORE"
        }
        _ => "",
    }
}
