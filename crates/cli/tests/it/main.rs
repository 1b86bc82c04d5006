//! Tests of the whole road: the real binary on the real kernel.

mod agree;
mod answers;
mod crash;
mod record;
mod runs;
mod support;
