//! Runs asked by a cluster: any server of the protocol Spark Connect, over the same files.
//!
//! [`ClusterOptions`] is a `fenxi_query::backend::Backend`: an engine that is opened with it answers by the cluster. `connect/` is the
//! client of the protocol, `spark/` writes a statement again in Spark's SQL, `engine.rs` brings both together.

mod connect;
mod engine;
mod gate;
mod options;
mod rows;
mod server_message;
mod spark;
mod tables;

pub use connect::{BadTarget, Target};
pub use options::ClusterOptions;
