//! Load generation for PostgreSQL and MySQL/MariaDB: workloads, arrival schedules, latencies.
//!
//! `workload` defines what is done and `schedule` when; `engine` does it over sessions of [`fenxi_wire`], and hands over a `tally`
//! for each interval. Nothing here prints, and no clock but a monotonic one is read.

pub mod engine;
pub mod exposition;
pub mod fit;
pub mod net;
pub mod policy;
pub mod prepare;
pub mod random;
pub mod report;
pub mod schedule;
pub mod server;
pub mod tally;
pub mod team;
pub mod workload;
