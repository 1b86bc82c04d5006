//! Which engine answers: this machine's, or a cluster's.

use std::sync::Arc;

use clap::Args;
use fenxi_cluster::{ClusterOptions, Target};
use fenxi_query::{Options, backend::Backend};

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
    pub fn backend(&self) -> Option<Arc<dyn Backend>> {
        let target = self.engine.clone()?;
        Some(Arc::new(ClusterOptions { target, store: self.engine_store.clone() }))
    }

    /// Bounds of an engine without any, on this machine or a cluster.
    pub fn options(&self) -> Options {
        Options { backend: self.backend(), time_parts: Some(fenxi_compare::time_parts), ..Options::default() }
    }
}
