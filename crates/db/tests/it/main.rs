//! Real servers, observed while it is known exactly what they do.

#![expect(clippy::print_stderr, reason = "a test says why a server did not start")]

mod auto;
mod extensions;
mod messages;
mod mysql;
mod mysql_versions;
mod observe;
mod oracles;
mod plans;
mod pooler;
mod postgres;
mod resets;
mod saturated;
mod saved;
#[allow(dead_code, reason = "the load's tests use all of it")]
#[path = "../../../load/tests/it/server.rs"]
mod server;
mod snapshots;
mod standby;
mod versions;
