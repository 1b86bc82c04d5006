//! Which engine answers: this machine's, or a cluster's.

use clap::Args;
use fenxi_query::{ClusterOptions, Options, Target};

/// The engine that answers in SQL.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "SQL engine")]
pub struct EngineArgs {
    /// Have a cluster answer (Spark Connect), such as `sc://host:15002/;use_ssl=true;token=…`
    /// [default: this machine]
    #[arg(long, env = "FENXI_ENGINE", hide_env_values = true, value_name = "URL", hide_default_value = true)]
    pub engine: Option<Target>,
    /// Where the cluster finds the store, if not at the same path: a path or URL
    #[arg(long, env = "FENXI_ENGINE_STORE", hide_env_values = true, value_name = "PATH")]
    pub engine_store: Option<String>,
}

impl EngineArgs {
    /// The cluster, if one answers.
    pub fn cluster(&self) -> Option<ClusterOptions> {
        let target = self.engine.clone()?;
        Some(ClusterOptions { target, store: self.engine_store.clone() })
    }

    /// Bounds of an engine without any, on this machine or a cluster.
    pub fn options(&self) -> Options {
        Options { cluster: self.cluster(), time_parts: Some(fenxi_compare::time_parts), ..Options::default() }
    }
}
