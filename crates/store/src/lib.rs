//! Runs on disk: begin, append, seal, recover, select, label, verify, remove, carry to another store.
//!
//! A run being recorded is `open/<id>/`: append-only Arrow IPC streams under a lock that lives as
//! long as its recorder. Sealing writes Parquet beside the other runs under a hidden name and
//! shows it with one rename, so that a run is either whole or not there. Reading takes no lock.
//!
//! Invariants: nothing under `runs/run=*/` is ever changed; nothing is left out of a run without a
//! note or an entry in its manifest; deleting `cache/` is harmless.

mod archive;
mod error;
mod follow;
mod fs;
mod gather;
mod index;
mod manifest;
mod open;
mod parquet_file;
mod read;
mod recover;
mod said;
mod seal;
mod select;
mod stats;
mod store;
mod stream;
mod table_seal;
mod take_in;
mod verify;
mod window;

#[cfg(test)]
mod chunk_tests;

pub use archive::{Exported, is_archive};
pub use error::StoreError;
pub use follow::{Follow, Recorded};
pub use manifest::{
    Begin, End, FORMAT, FileEntry, InputEntry, Labels, Manifest, Problem, Recovered, RunEntry, SourceCost, Summary,
    TableFile, Window,
};
pub use open::{OpenRun, RawFile};
pub use read::SeriesStat;
pub use said::{RunResult, label};
pub use seal::{APART, BOOT, IMPORT, SPREAD};
pub use store::Store;
pub use take_in::{ALWAYS, TakeLimits, TakenIn};
