//! State of each process in shared memory of PostgreSQL 14 to 18: its wait event, its state, its statement. Reading it
//! costs the server nothing, and shows a session at one moment, where a statement shows it a little later than its state.
//!
//! All processes of a server are forks of the first one and have the same memory at the same addresses: that of the first
//! one is read. Where things stand is known by exported symbols of the program and by the version; a [`proof`] against
//! `pg_stat_activity` comes first, and again now and then.

pub mod events;
pub mod image;
pub mod layout;
pub mod looker;
pub mod program;
mod proof;
