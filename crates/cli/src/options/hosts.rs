//! Other hosts on the command line.

use std::{path::PathBuf, sync::Arc};

use anyhow::{bail, ensure};
use clap::Args;
use fenxi_remote::{Hosts, Target, Wanted};
use fenxi_source::{Roles, Source};

use crate::print;

/// Hosts that are recorded besides this one.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Other hosts")]
pub struct HostsArgs {
    /// Also record this host: HOST by ssh, or NAME=COMMAND for a command that
    /// reaches it, such as 'pod=kubectl exec -i shop-0 --'; can be repeated
    #[arg(long = "on", value_name = "HOST", value_parser = Target::parse)]
    pub on: Vec<Target>,
    /// Role of hosts, such as server=db1,db2: hosts of one role are compared with
    /// each other; can be repeated
    #[arg(long, value_name = "ROLE=HOSTS", value_parser = role)]
    pub role: Vec<(String, Vec<String>)>,
    /// Program to send to hosts without Fenxi: a static one (scripts/static), or a
    /// folder of them
    #[arg(long, value_name = "PATH", requires = "on")]
    pub agent_binary: Option<PathBuf>,
    /// Start although a host cannot be reached, and keep retrying it
    #[arg(long, requires = "on")]
    pub partial: bool,
}

impl HostsArgs {
    /// These hosts, as `--on` takes them.
    ///
    /// # Errors
    /// When one is named wrongly.
    pub fn of(hosts: &[String], roles: &[String]) -> anyhow::Result<HostsArgs> {
        let on = hosts.iter().map(|host| Target::parse(host)).collect::<Result<_, _>>().map_err(anyhow::Error::msg)?;
        let role = roles.iter().map(|text| role(text)).collect::<Result<_, _>>().map_err(anyhow::Error::msg)?;
        Ok(HostsArgs { on, role, agent_binary: None, partial: false })
    }

    /// Connects to them all; their facts and roles. `list` is the value of `--source`, `host` this one's name.
    ///
    /// # Errors
    /// When one cannot be reached and is wanted from the start, or a source or the role of one is wrong.
    pub fn connect(
        &self,
        list: &[String],
        interval_s: f64,
        duration_s: Option<f64>,
        host: &str,
        is_quiet: bool,
    ) -> anyhow::Result<Vec<Arc<dyn Source>>> {
        let roles = self.roles(host)?;
        let mut sources: Vec<Arc<dyn Source>> = Vec::new();
        if !roles.is_empty() {
            sources.push(Arc::new(Roles::new(roles)));
        }
        if self.on.is_empty() {
            return Ok(sources);
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
        sources.push(hosts.source());
        Ok(sources)
    }

    /// Hosts, each with its role.
    fn roles(&self, own: &str) -> anyhow::Result<Vec<(String, String)>> {
        let names = self.names(own);
        let mut roles: Vec<(String, String)> = Vec::new();
        for (role, hosts) in &self.role {
            for host in hosts {
                let is_known = names.contains(&host.as_str());
                ensure!(is_known, "--role {role}: no host is called {host}; there are {}", names.join(", "));
                if let Some((_, other)) = roles.iter().find(|(known, _)| known == host) {
                    bail!("--role {role}: {host} has the role {other}; a host has one");
                }
                roles.push((host.clone(), role.clone()));
            }
        }
        Ok(roles)
    }

    /// All hosts of the recording; `own` is this one's name.
    pub fn names<'a>(&'a self, own: &'a str) -> Vec<&'a str> {
        self.on.iter().map(|target| target.name.as_str()).chain([own]).collect()
    }

    /// The part of `--source` for this host itself.
    pub fn own(&self, list: &[String], host: &str) -> Vec<String> {
        fenxi_record::for_host(list, &self.names(host), host)
    }
}

/// Reads `ROLE=HOST,HOST`.
fn role(text: &str) -> Result<(String, Vec<String>), String> {
    let expected = || format!("`{text}` is no role with its hosts; expected ROLE=HOST or ROLE=HOST,HOST");
    let (role, hosts) = text.split_once('=').ok_or_else(expected)?;
    let hosts: Vec<String> = hosts.split(',').map(|host| host.trim().to_owned()).collect();
    let is_whole = !role.trim().is_empty() && hosts.iter().all(|host| !host.is_empty());
    if is_whole { Ok((role.trim().to_owned(), hosts)) } else { Err(expected()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_host_has_one_role_and_is_one_of_the_recording() {
        let of = |roles: &[&str]| {
            let roles: Vec<String> = roles.iter().map(|&text| text.to_owned()).collect();
            HostsArgs::of(&["db1".to_owned(), "db2".to_owned()], &roles).and_then(|args| args.roles("driver"))
        };
        let said = |roles: &[&str]| format!("{:#}", of(roles).unwrap_err());
        let pair = |host: &str, role: &str| (host.to_owned(), role.to_owned());
        let all = of(&["server=db1,db2", "client=driver"]).unwrap();
        assert_eq!(all, [pair("db1", "server"), pair("db2", "server"), pair("driver", "client")]);
        assert_eq!(said(&["server=db3"]), "--role server: no host is called db3; there are db1, db2, driver");
        assert_eq!(said(&["server=db1", "client=db1"]), "--role client: db1 has the role server; a host has one");
        assert!(said(&["server"]).starts_with("`server` is no role with its hosts"));
    }
}
