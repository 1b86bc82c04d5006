//! Compression in standard formats with every core: zstd, LZ4 and gzip, block by block.
//!
//! The stock tools read this output; their output is read here, with every core wherever the file
//! allows it. [`compress`] and [`decompress`] take an [`Input`] and an [`Output`] and neither know file names nor
//! print; [`files`] has what a command needs around them to replace one file by another without ever
//! losing both. The engine, which is the same for all formats, is described in `engine.rs`.

mod compress;
mod container;
mod decompress;
mod engine;
mod error;
pub mod files;
mod frame;
mod gz;
mod input;
mod job;
mod level;
mod list;
mod lz4;
mod meter;
mod output;
mod recover;
#[cfg(test)]
mod tests;
mod unpack;
mod zst;

pub use compress::{Compress, compress};
pub use decompress::{Decompress, Unpacked, decompress};
pub use error::Error;
pub use input::Input;
pub use level::{Format, Level};
pub use list::{Listing, list};
pub use meter::{Meter, Totals, Watch, unwatched};
pub use output::{Memory, Output, Written};
pub use recover::{Lost, Recovered, recover};

/// Number of useful threads: CPUs that this process may run on, and not more than its control group may use.
pub fn threads() -> usize {
    // The standard library looks at the affinity mask and at the quotas of cgroup 1 and 2.
    std::thread::available_parallelism().map_or(1, usize::from)
}
