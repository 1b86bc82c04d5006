//! Tests of the store: what it keeps, what a dead recorder leaves, and what is refused.

mod archive;
mod common;
mod compact;
mod copies;
mod crash;
mod full_disk;
mod hostile;
mod life;
mod selectors;
mod stitched;
mod vault;
