//! Load generation for PostgreSQL and MySQL/MariaDB: workloads, wire protocols, arrival schedules, latencies.
//!
//! `workload` says what is done and `schedule` when; `engine` does it over sessions of `wire`, and hands over a `tally`
//! for each interval. Nothing here prints, and no clock but a monotonic one is read.

mod channel;
pub mod client;
pub mod engine;
pub mod exposition;
pub mod login;
pub mod policy;
pub mod prepare;
pub mod random;
pub mod report;
pub mod schedule;
pub mod server;
pub mod tally;
pub mod target;
pub mod team;
mod tls;
pub mod wire;
pub mod workload;
