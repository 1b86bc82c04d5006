//! Errors of transfers, with the way out.

use std::io;

use fenxi_store::StoreError;

/// A transfer that failed. What was transferred so far stays, and the next attempt goes on from there.
#[derive(Debug, thiserror::Error)]
pub enum CarryError {
    /// An address that names no place.
    #[error(
        "`{0}` names no place: give s3://BUCKET/PREFIX, ssh:HOST[:PATH], http://HOST:PORT, file:///DIRECTORY, or a directory \
         (./NAME where there is a colon in its name)"
    )]
    Address(String),
    /// No request is possible without it.
    #[error("{0} is not set: S3 needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")]
    Credentials(&'static str),
    /// The storage refused, or could not be reached.
    #[error("{what}: {why}")]
    Storage {
        /// The place, or the request.
        what: String,
        /// Its message.
        why: String,
    },
    /// The content does not match its listing.
    #[error("{place} sent invalid data: {name}: {why}; nothing of it was kept")]
    Lie {
        /// The place.
        place: String,
        /// The file.
        name: String,
        /// The mismatch.
        why: String,
    },
    /// Something else lies there.
    #[error("{place} holds another store ({theirs}, this one is {ours}): choose another prefix")]
    Foreign {
        /// The place.
        place: String,
        /// The id of the store there.
        theirs: String,
        /// The id of this one.
        ours: String,
    },
    /// No store lies there.
    #[error("{0} is no store: it has no store.json; `fenxi store push` makes one")]
    NoStore(String),
    /// The run there is another one of the same id.
    #[error("{place} has another run {run}, with other content: remove it there, or choose another prefix")]
    Differs {
        /// The place.
        place: String,
        /// The run.
        run: String,
    },
    /// The local store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A local file.
    #[error(transparent)]
    Io(#[from] io::Error),
}
