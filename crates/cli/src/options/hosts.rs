//! Other hosts on the command line.

use std::{path::PathBuf, sync::Arc};

use clap::Args;
use fenxi_remote::{Hosts, Target, Wanted};
use fenxi_source::Source;

use crate::print;

/// Hosts that are recorded besides this one.
#[derive(Clone, Debug, Args)]
pub struct HostsArgs {
    /// Also record this host: HOST by ssh, or NAME=COMMAND for a command that
    /// reaches it, such as 'pod=kubectl exec -i shop-0 --'; can be repeated
    #[arg(long = "on", value_name = "HOST", value_parser = Target::parse)]
    pub on: Vec<Target>,
    /// Program to send to hosts without Fenxi: a static one (scripts/static), or a
    /// folder of them
    #[arg(long, value_name = "PATH", requires = "on")]
    pub agent_binary: Option<PathBuf>,
    /// Begin although a host cannot be reached; it is tried again all the time
    #[arg(long, requires = "on")]
    pub partial: bool,
}

impl HostsArgs {
    /// These hosts, as `--on` takes them.
    ///
    /// # Errors
    /// When one is named wrongly.
    pub fn of(hosts: &[String]) -> anyhow::Result<HostsArgs> {
        let on = hosts.iter().map(|host| Target::parse(host)).collect::<Result<_, _>>().map_err(anyhow::Error::msg)?;
        Ok(HostsArgs { on, agent_binary: None, partial: false })
    }

    /// Connects to them all; None when none is named. `list` is what `--source` says, `host` this one's name.
    ///
    /// # Errors
    /// When one cannot be reached and is wanted from the start, or a source of one is wrong.
    pub fn connect(
        &self,
        list: &[String],
        interval_s: f64,
        duration_s: Option<f64>,
        host: &str,
        is_quiet: bool,
    ) -> anyhow::Result<Option<Arc<dyn Source>>> {
        if self.on.is_empty() {
            return Ok(None);
        }
        let wanted = Wanted {
            sources: list.to_vec(),
            interval_s,
            duration_s,
            programs: self.agent_binary.clone(),
            is_patient: self.partial,
        };
        let hosts = Hosts::connect(&self.on, wanted, host, &mut |message| {
            if !message.is_empty() && !is_quiet {
                print::message(message);
            }
            true
        })?;
        for missing in hosts.missing() {
            print::message(&format!("warning: not recorded yet: {missing}"));
        }
        Ok(Some(hosts.source()))
    }

    /// What `--source` says of this host itself.
    pub fn own(&self, list: &[String], host: &str) -> Vec<String> {
        let mut names: Vec<&str> = self.on.iter().map(|target| target.name.as_str()).collect();
        names.push(host);
        fenxi_record::for_host(list, &names, host)
    }
}
