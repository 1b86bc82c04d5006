//! Two home directories that one user keeps the same with rsync, over ssh: nothing else is needed at the other host.
//!
//! A check is one `rsync -n`. Its differences are judged by the state that both homes had in common after the last sync
//! (`history.rs`, `judge.rs`): who changed what. A sync hands rsync exactly the paths of the plan that was confirmed (`sync.rs`), so
//! that it replaces and deletes nothing else; what it replaces or deletes goes to the receiver's trash.

mod check;
mod history;
mod judge;
mod pair;
mod rsync;
mod scope;
mod sync;

use std::io;

pub use check::Check;
pub use judge::{Entry, Item, Plan, Verdict};
pub use pair::{Pair, Side};
pub use rsync::{Line, Report};
pub use scope::Scope;
pub use sync::Undo;

/// The folder of lists and locks in a home.
const STATE: &str = ".lsync";
/// The folder of replaced and deleted files in a home, one in it for each sync.
pub const TRASH: &str = ".lsync-trash";

/// An error of lsync.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The configuration, or the command line, is wrong.
    #[error("Lsync: {0}")]
    Usage(String),
    /// rsync, or the remote shell, failed.
    #[error("{0}")]
    Failed(String),
    /// A file of this host.
    #[error(transparent)]
    Io(#[from] io::Error),
}
