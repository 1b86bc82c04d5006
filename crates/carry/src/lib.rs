//! Remote stores: S3-compatible storage, a directory such as one that is shared, or the store of another fenxi.
//!
//! To another fenxi runs travel as archives (`peer.rs`): through ssh (`pipe.rs`), or to a server (`http.rs`). To the first two:
//! what lies there has the names that it has in a store, so that a cluster reads it as it is. A run's manifest goes last: a run
//! whose manifest is there is whole, and one that was interrupted is continued. Sealed files never change, so that a name
//! and a size identify what is there already; the storage itself verifies what it receives against a checksum.
//!
//! S3 is a few signed requests over HTTP/1.1, which are written out here: the library `object_store` 0.14 would bring 69 crates
//! that nothing else here needs.

mod address;
mod directory;
mod error;
mod fetch;
mod http;
mod list;
mod names;
mod peer;
mod pipe;
mod place;
mod pull;
mod push;
mod s3;
mod sign;

#[cfg(test)]
mod hostile_servers;

pub use address::{Remote, Wants, open};
pub use error::CarryError;
pub use fetch::{Body, Patience};
pub use http::{Exchange, Server};
pub use peer::{ManyLabels, Offer, Offered, Peer, merge};
pub use pipe::attend;
pub use place::Place;
pub use pull::{Pulled, pull};
pub use push::{Pushed, push};

/// Options of a transfer.
pub struct Transfer<'a> {
    /// Only reports what would be done.
    pub dry_run: bool,
    /// Files on their way at the same time.
    pub threads: usize,
    /// Takes what is being done: runs that are done, all of them, bytes so far.
    pub watch: &'a (dyn Fn(usize, usize, u64) + Sync),
}
