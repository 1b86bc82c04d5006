//! Stores elsewhere: S3-compatible storage, or a directory such as one that is shared.
//!
//! What lies there has the names that it has in a store, so that a cluster reads it as it is. A run's manifest goes last: a run
//! whose manifest is there is whole, and one that was interrupted is continued. Sealed files never change, so that a name
//! and a size tell what is there already; the storage itself verifies what it receives against a checksum.
//!
//! S3 is a few signed requests over HTTP/1.1, which are written out here: the library `object_store` 0.14 would bring 69 crates
//! that nothing else here needs.

mod address;
mod directory;
mod error;
mod fetch;
mod list;
mod names;
mod place;
mod pull;
mod push;
mod s3;
mod sign;

#[cfg(test)]
mod liars;

pub use address::open;
pub use error::CarryError;
pub use fetch::{Body, Patience};
pub use place::Place;
pub use pull::{Pulled, pull};
pub use push::{Pushed, push};

/// How a transfer goes on.
pub struct Transfer<'a> {
    /// Only tells what would be done.
    pub dry_run: bool,
    /// Files on their way at the same time.
    pub threads: usize,
    /// Takes what is being done: runs that are done, all of them, bytes so far.
    pub watch: &'a (dyn Fn(usize, usize, u64) + Sync),
}
