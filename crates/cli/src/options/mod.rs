//! Shared parts of the command line of several commands: their common options, and values as they are typed.
//! No command is known here.

mod answer;
pub mod database;
mod engine;
mod form;
mod hosts;
mod live;
mod range;
mod roll;
mod travel;
mod trigger;
mod values;

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use fenxi_source::Root;

pub use answer::AnswerArgs;
pub use database::DbArgs;
pub use engine::EngineArgs;
pub use form::{ComparisonArgs, ComparisonForm, FORMS, Format, JsonArgs, OUTPUT, PageArgs, RowsArgs};
pub use hosts::HostsArgs;
pub use live::LiveArgs;
pub use range::RangeArgs;
pub use roll::{RollArgs, with_config};
pub use travel::{TravelArgs, print_merged};
pub use trigger::{TriggerArgs, came_true};
pub use values::{cpu_list, interval, key_value, seconds, size, unknown};

/// Options that every command has.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Directory of the run store [default: $XDG_DATA_HOME/fenxi]
    #[arg(long, global = true, env = "FENXI_STORE", hide_env_values = true, value_name = "DIR")]
    pub store: Option<PathBuf>,

    /// Suppress progress and informational messages
    #[arg(long, short, global = true)]
    pub quiet: bool,

    /// Print long output at once, not through $FENXI_PAGER, $PAGER or less
    #[arg(long, global = true)]
    pub no_pager: bool,
}

/// What a new run is called. A command sets the default name by `mut_arg`.
#[derive(Debug, Args)]
pub struct RunLabels {
    /// Name of the run
    #[arg(long, short)]
    pub name: Option<String>,
    /// Tag of the run (repeatable)
    #[arg(long, short, value_name = "KEY=VALUE", value_parser = key_value)]
    pub tag: Vec<(String, String)>,
}

/// Which part of a run counts.
#[derive(Debug, Args)]
pub struct WindowArg {
    /// Time window: `all`, a name, FROM..TO, or `auto` for the steady state
    #[arg(long, value_name = "WINDOW", default_value = "auto")]
    pub window: String,
}

/// The machine that is read.
#[derive(Clone, Debug, Args)]
pub struct RootArg {
    /// Read a saved copy of /proc and /sys below this directory, not the live ones
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
}

impl RootArg {
    /// The live system, or the saved copy.
    ///
    /// # Errors
    /// When it is no copy of /proc.
    pub fn open(&self) -> anyhow::Result<Root> {
        match &self.root {
            Some(path) if !path.join("proc").is_dir() => {
                bail!("{} has no `proc`: --root needs a saved copy of /proc and /sys", path.display())
            }
            Some(path) => Ok(Root::saved(path)),
            None => Ok(Root::live()),
        }
    }

    /// Whether it is the live system.
    pub fn is_live(&self) -> bool {
        self.root.is_none()
    }
}
