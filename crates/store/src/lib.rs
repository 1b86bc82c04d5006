//! Run store on disk: begin, append, seal, recover, select, label, verify, remove, export and import.
//!
//! A run being recorded is `open/<id>/`: append-only Arrow IPC streams under a lock that lives as
//! long as its recorder. Sealing writes Parquet beside the other runs under a hidden name and
//! shows it with one rename, so that a run is either whole or not there. Reading takes no lock.
//!
//! All that is read is compared with a checksum first (`checked.rs`, `digest.rs`); who changes something holds a lock
//! meanwhile (`locks.rs`), and leftovers of a killed command are removed by the next (`orphans.rs`).
//!
//! Invariants: nothing under `runs/run=*/` is ever changed; nothing is left out of a run without a
//! note or an entry in its manifest; deleting `cache/` is harmless.

mod archive;
mod archive_import;
mod bounds;
mod cached;
mod checked;
mod compact;
mod compacted;
mod copies;
mod digest;
mod error;
mod folder;
mod follow;
mod fs;
mod heal;
mod index;
mod label_log;
mod locks;
mod manifest;
mod manifest_cache;
mod mark;
mod marks;
mod only;
mod open;
mod orphans;
mod own_text;
mod packed;
mod pages;
mod parquet_file;
mod placement;
mod ranges;
mod read;
mod recover;
mod restore;
mod results;
mod rows;
mod runs;
mod scrub;
mod scrub_copies;
mod seal;
mod seal_together;
mod seen;
mod select;
mod sort_buffer;
mod stamp;
mod stats;
mod stitch;
mod store;
mod stream;
mod table_seal;
mod table_stats;
mod thinned;
mod verified;
mod verify;
mod window;

#[cfg(test)]
mod chunk_tests;

pub use archive::{Exported, is_archive};
pub use archive_import::{ALWAYS, ArchiveLimits, ImportedRun};
pub use bounds::{MANIFEST as LONGEST_MANIFEST, TEXT as LONGEST_LABELS};
pub use compact::{CompactWish, Compaction};
pub use copies::{CopiesStatus, CopyStatus, Incident, ScrubDone};
pub use error::StoreError;
pub use folder::{Entry, Folder, PART, open_regular, read_regular};
pub use follow::{Follow, Recorded};
pub use label_log::LabelConflict;
pub use locks::{Scratch, SeriesLock};
pub use manifest::{
    Begin, End, FORMAT, FileEntry, InputEntry, LabelChange, Labels, Manifest, Mark, Part, Problem, Recovered, RunEntry,
    SourceCost, Summary, Window,
};
pub use open::{OpenRun, RawFile};
pub use placement::{Holds, RunFilter, TableFile};
pub use ranges::SERIES;
pub use read::SeriesStat;
pub use restore::WholeRun;
pub use results::{RunResult, label};
pub use runs::LabelStamp;
pub use scrub::ScrubReport;
pub use seal::{APART, AVERAGE, BOOT, IMPORT, PERIOD, SNAPSHOT, SPREAD};
pub use stitch::Stitch;
pub use store::Store;
pub use table_seal::GoOn;
pub use thinned::{HIGHEST, LOWEST};
