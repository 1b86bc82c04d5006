//! Imports files: opens and unpacks them, recognises each format from its content, lets the
//! format's importer read it, and keeps rows and inputs as one run.
//!
//! ```text
//! probe ─▶ plan ─▶ read ─▶ write     probe.rs, read_plan.rs, read.rs, write.rs; import.rs joins them
//!
//! file ─unpack─▶ chunks ─▶ importer ─▶ rows ─▶ store
//!                   └─▶ raw/<name>.zst
//! ```
//!
//! Threads probe what each input is; those of short inputs read it at once. The plan is what all of them together say: the host
//! of those that name none. A thread beside the importer reads, unpacks, hashes and keeps an input (`reader_thread`). Of many
//! inputs the short ones are read by several threads (`small_files`), and kept in one file (`pack`). The first line of each
//! file names the thread that it runs in.

mod archive;
mod attach;
mod dedup;
mod error;
mod group;
mod host_of_tree;
mod import;
mod inputs;
mod keep;
mod outcome;
mod overrun;
mod own;
mod pack;
mod parse;
mod plan;
mod probe;
mod progress;
mod read;
mod read_ahead;
mod read_plan;
mod reader_thread;
mod small_files;
mod source;
#[cfg(test)]
mod tests;
mod unknown;
mod unpack;
mod write;

pub use archive::{Growth, UnpackBudget};
pub use attach::{Reading, attach};
pub use error::ImportError;
pub use import::import;
pub use inputs::{collect, expand, kept};
pub use outcome::{Imported, Outcome};
pub use own::{Limits, OwnFormats, Programs, own_formats};
pub use plan::Plan;
pub use progress::Progress;
pub use source::{Content, Source};
