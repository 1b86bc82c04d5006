//! System calls that several crates need and `rustix` lacks, each as a small safe function over `libc`.
//!
//! `rustix` covers what the kernel offers; this covers what the C library adds to it (signals of a thread, users) and
//! the few calls that `rustix` leaves out.
#![allow(unsafe_code, reason = "these are the wrappers: each block has the reason why its call is sound")]

pub mod clock;
pub mod ethtool;
pub mod interface;
pub mod memory;
pub mod signal;
pub mod socket;
pub mod terminal;
pub mod usage;
pub mod user;
