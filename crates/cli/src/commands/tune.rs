//! `fenxi tune`: settings of the machine, changed so that they can be undone.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::bail;
use clap::{Args, Subcommand};
use fenxi_fence::{Change, Nic, Outcome, Setting};
use serde_json::json;

use crate::{
    options::{Global, JsonArgs},
    print,
};

/// `fenxi tune`
#[derive(Debug, Args)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "\
Examples:
  fenxi tune nic eth0                      offloads, coalescing, rings, queues
  fenxi tune nic eth0 gro=off --apply      change one
  fenxi tune nic --undo                    undo all changes"
)]
pub struct TuneArgs {
    /// What to tune
    #[command(subcommand)]
    pub command: TuneCommand,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum TuneCommand {
    /// Show and change network interfaces: offloads, coalescing, rings, queues
    Nic(Box<NicArgs>),
}

/// `fenxi tune nic`
#[derive(Debug, Args)]
#[command(after_help = "\
Settings of a network interface, by the names of ethtool: MTU, offloads (gro,
gso, tso, checksums …), interrupt coalescing, lengths of rings, numbers of
queues, CPUs of receive and transmit queues (RPS, XPS), busy polling. Settings
that the interface does not have are listed with `-`.

With changes, the plan is shown; --apply carries it out and saves the previous
state first; --undo restores it. What the driver refuses is reported with its
reason, and the exit status is then 1. Settings end with the machine's run.

rps and xps are lists of CPUs, or off; with `;` one for each queue. busy-poll
and busy-read are of the whole machine.

Examples:
  fenxi tune nic                           interfaces, with MTU and driver
  fenxi tune nic eth0                      all settings of one
  fenxi tune nic eth0 rx-usecs=0 gro=off   show the plan
  fenxi tune nic eth0 mtu=9000 --apply     change it
  fenxi tune nic eth0 rps=0-3 xps=off --apply
  fenxi tune nic eth0 --undo               restore what it was")]
pub struct NicArgs {
    /// Interface
    #[arg(value_name = "INTERFACE")]
    pub interface: Option<String>,
    /// Changes, such as gro=off
    #[arg(value_name = "NAME=VALUE")]
    pub changes: Vec<Change>,
    /// Apply the changes
    #[arg(long, requires = "changes", conflicts_with_all = ["undo", "json"])]
    pub apply: bool,
    /// Undo the changes of all interfaces, or of one
    #[arg(long, conflicts_with_all = ["changes", "json"])]
    pub undo: bool,
    /// Directory of saved states [default: $XDG_STATE_HOME/fenxi]
    #[arg(long, value_name = "DIR", env = "FENXI_STATE", hide_env_values = true)]
    pub state: Option<PathBuf>,
    /// Form of the output
    #[command(flatten)]
    pub form: JsonArgs,
}

/// Shows, changes or undoes.
pub fn run(_: &Global, args: &TuneArgs) -> anyhow::Result<ExitCode> {
    let TuneCommand::Nic(args) = &args.command;
    let folder = args.state.clone().unwrap_or_else(fenxi_fence::default_folder);
    if args.undo {
        return Ok(say(&fenxi_fence::undo_nic(args.interface.as_deref(), &folder)?));
    }
    let Some(interface) = &args.interface else { return list(args.form.is_json()) };
    if let Some(twice) = twice(&args.changes) {
        bail!("`{twice}` is given twice");
    }
    if args.apply {
        return apply(interface, &args.changes, &folder);
    }
    let nic = fenxi_fence::nic(interface)?;
    if args.form.is_json() {
        print::json(&format!("{:#}\n", to_json(&nic, &args.changes)))?;
    } else {
        print::text(&text(&nic, &args.changes))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn twice(changes: &[Change]) -> Option<&str> {
    let is_again = |(place, change): &(usize, &Change)| changes[..*place].iter().any(|other| other.name == change.name);
    changes.iter().enumerate().find(is_again).map(|(_, change)| change.name.as_str())
}

fn apply(interface: &str, changes: &[Change], folder: &Path) -> anyhow::Result<ExitCode> {
    let outcome = fenxi_fence::apply_nic(interface, changes, folder)?;
    let code = say(&outcome);
    print::message(&format!("undo it with: fenxi tune nic {interface} --undo"));
    Ok(code)
}

fn say(outcome: &Outcome) -> ExitCode {
    outcome.done.iter().chain(&outcome.failed).for_each(|line| print::message(line));
    if outcome.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Every interface with what is asked first.
fn list(is_json: bool) -> anyhow::Result<ExitCode> {
    let mut nics = Vec::new();
    for name in fenxi_fence::interfaces()? {
        // It may have gone since it was listed.
        nics.extend(fenxi_fence::nic(&name).ok());
    }
    if is_json {
        let all: Vec<_> = nics.iter().map(|nic| to_json(nic, &[])).collect();
        print::json(&format!("{:#}\n", json!(all)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let shown = ["mtu", "rx-usecs", "rx-ring", "combined-queues", "gro", "tso", "rps"];
    let rows: Vec<Vec<String>> = nics
        .iter()
        .map(|nic| {
            let value =
                |name: &&str| nic.settings.iter().find(|setting| setting.name == *name).and_then(|s| s.value.clone());
            let mut cells = vec![print::visible(&nic.name).into_owned(), driver(nic)];
            cells.extend(shown.iter().map(|name| value(name).unwrap_or_else(|| "-".to_owned())));
            cells
        })
        .collect();
    let header = ["INTERFACE", "DRIVER", "MTU", "RX-USECS", "RX-RING", "QUEUES", "GRO", "TSO", "RPS"];
    print::text(&print::columns(&header, &[2, 3, 4, 5], &rows))?;
    Ok(ExitCode::SUCCESS)
}

fn driver(nic: &Nic) -> String {
    nic.driver.as_deref().map_or_else(|| "-".to_owned(), |driver| print::visible(driver).into_owned())
}

/// Settings of one, and what would be changed.
fn text(nic: &Nic, changes: &[Change]) -> String {
    let mut out = format!("{}, driver {}\n\n", print::visible(&nic.name), driver(nic));
    let mut header = vec!["SETTING", "VALUE"];
    header.extend((!changes.is_empty()).then_some("PLANNED"));
    header.push("");
    let planned = |setting: &Setting| changes.iter().find(|change| change.name == setting.name);
    let rows: Vec<Vec<String>> = nic
        .settings
        .iter()
        .map(|setting| {
            let mut cells = vec![setting.name.to_owned(), setting.value.clone().unwrap_or_else(|| "-".to_owned())];
            if !changes.is_empty() {
                cells.push(planned(setting).map_or_else(String::new, |change| change.value.clone()));
            }
            cells.push(remark(setting));
            cells
        })
        .collect();
    out.push_str(&print::columns(&header, &[], &rows));
    if !changes.is_empty() {
        out.push_str("\nNothing is changed yet: --apply\n");
    }
    out
}

fn remark(setting: &Setting) -> String {
    match (&setting.value, setting.maximum, setting.changeable, setting.of_machine) {
        (None, ..) => String::new(),
        (Some(_), Some(maximum), ..) => format!("up to {maximum}"),
        (Some(_), None, false, _) => "fixed".to_owned(),
        (Some(_), None, _, true) => "of the whole machine".to_owned(),
        (Some(_), None, true, false) => String::new(),
    }
}

fn to_json(nic: &Nic, changes: &[Change]) -> serde_json::Value {
    let setting = |setting: &Setting| {
        let planned = changes.iter().find(|change| change.name == setting.name).map(|change| &change.value);
        json!({
            "name": setting.name, "value": setting.value, "maximum": setting.maximum,
            "changeable": setting.value.is_some() && setting.changeable, "of_machine": setting.of_machine, "planned": planned,
        })
    };
    json!({"interface": nic.name, "driver": nic.driver, "settings": nic.settings.iter().map(setting).collect::<Vec<_>>()})
}
