//! Imports files: opens and unpacks them, recognises each format from its content, lets the
//! format's importer read it, and keeps rows and inputs as one run.
//!
//! ```text
//! file ─unpack─▶ chunks ─▶ importer ─▶ rows ─▶ store
//!                   └─▶ raw/<name>.zst
//! ```
//!
//! Reading, unpacking, hashing and keeping an input happen in a thread beside the importer. Of many inputs the short ones are
//! read by several threads, and kept in one file.

mod ahead;
mod attach;
mod beforehand;
mod error;
mod feed;
mod import;
mod inputs;
mod looking;
mod members;
mod own;
mod pack;
mod plan;
mod reading;
mod same;
mod short;
#[cfg(test)]
mod tests;
mod trees;
mod unknown;
mod unpack;
mod writing;

pub use attach::{Reading, attach};
pub use error::ImportError;
pub use import::{Imported, Outcome, Progress, import};
pub use inputs::{Content, Source, collect, expand, kept};
pub use members::{Growth, Room};
pub use own::{Limits, OwnFormats, Programs, own_formats};
pub use plan::Plan;
