//! Run store on disk: begin, append, seal, recover, select, label, verify, remove, export and import.
//!
//! A run being recorded is `open/<id>/`: append-only Arrow IPC streams under a lock that lives as
//! long as its recorder. Sealing writes Parquet beside the other runs under a hidden name and
//! shows it with one rename, so that a run is either whole or not there. Reading takes no lock.
//!
//! What is read is compared with a checksum first (`checked.rs`, `digest.rs`); who changes something holds a lock
//! meanwhile (`locks.rs`), and what a killed command leaves is removed by the next (`leftovers.rs`).
//!
//! Invariants: nothing under `runs/run=*/` is ever changed; nothing is left out of a run without a
//! note or an entry in its manifest; deleting `cache/` is harmless.

mod archive;
mod bounds;
mod cached;
mod checked;
mod checkup;
mod compact;
mod compacted;
mod digest;
mod error;
mod folder;
mod follow;
mod fs;
mod gather;
mod index;
mod kept_manifests;
mod leftovers;
mod located;
mod locks;
mod manifest;
mod mark;
mod marks;
mod open;
mod own_text;
mod packed;
mod pages;
mod parquet_file;
mod ranges;
mod read;
mod recover;
mod restore;
mod rows;
mod runs;
mod said;
mod seal;
mod seal_together;
mod seen;
mod select;
mod stamp;
mod stats;
mod stitch;
mod store;
mod stream;
mod table_seal;
mod table_stats;
mod take_in;
mod thinned;
mod verified;
mod verify;
mod window;

#[cfg(test)]
mod chunk_tests;

pub use archive::{Exported, is_archive};
pub use bounds::{MANIFEST as LONGEST_MANIFEST, TEXT as LONGEST_LABELS};
pub use checkup::Checkup;
pub use compact::{CompactWish, Compaction};
pub use error::StoreError;
pub use folder::{Entry, Folder, PART, open_regular, read_regular};
pub use follow::{Follow, Recorded};
pub use located::{Holds, RunFilter, TableFile};
pub use locks::{Scratch, SeriesLock};
pub use manifest::{
    Begin, End, FORMAT, FileEntry, InputEntry, Labels, Manifest, Mark, Part, Problem, Recovered, RunEntry, SourceCost,
    Summary, Window,
};
pub use open::{OpenRun, RawFile};
pub use ranges::SERIES;
pub use read::SeriesStat;
pub use restore::WholeRun;
pub use said::{RunResult, label};
pub use seal::{APART, AVERAGE, BOOT, IMPORT, PERIOD, SNAPSHOT, SPREAD};
pub use stitch::Stitch;
pub use store::Store;
pub use take_in::{ALWAYS, TakeLimits, TakenIn};
pub use thinned::{HIGHEST, LOWEST};
