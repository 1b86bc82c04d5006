//! Real servers, observed while it is known exactly what they do.

mod auto;
mod extensions;
mod memory;
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
mod snapshots;
mod standby;
mod versions;

use fenxi_test_support::database as server;
