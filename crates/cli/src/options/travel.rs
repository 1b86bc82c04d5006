//! Shared parts of `fenxi store push` and `pull`: where to, what of it is only listed, and what became of labels.

use std::path::PathBuf;

use clap::Args;
use fenxi_carry::{Remote, Wants, open};
use fenxi_model::RunId;
use fenxi_store::LabelConflict;

use super::JsonArgs;
use crate::{print, progress::plural, stores};

/// What both take.
#[derive(Clone, Debug, Args)]
pub struct TravelArgs {
    /// Only print what would travel
    #[arg(long)]
    pub dry_run: bool,
    /// Only list the runs that would travel, one a line
    #[arg(long, conflicts_with = "dry_run")]
    pub list: bool,
    /// For a server: a file with its token [default: the environment variable FENXI_TOKEN]
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
}

impl TravelArgs {
    /// Whether nothing travels.
    pub fn is_dry(&self) -> bool {
        self.dry_run || self.list
    }

    /// Opens the store at an address.
    pub fn open(&self, address: &str) -> anyhow::Result<Remote> {
        let token = match &self.token_file {
            Some(file) => Some(fenxi_serve::own_token(file)?),
            None => std::env::var("FENXI_TOKEN").ok().filter(|token| !token.is_empty()),
        };
        let host = address.strip_prefix("http://").unwrap_or_default();
        let is_local = ["127.", "localhost", "[::1]"].iter().any(|local| host.starts_with(local));
        if token.is_some() && !host.is_empty() && !is_local {
            print::message("warning: the token crosses the network in clear text: use https://");
        }
        Ok(open(address, Wants { now: stores::now, token })?)
    }

    /// Prints the runs where only a list is wanted.
    pub fn print_list(&self, runs: &[RunId], form: &JsonArgs) -> anyhow::Result<()> {
        if !self.list || form.is_json() {
            return Ok(());
        }
        print::text(&runs.iter().map(|id| format!("{id}\n")).collect::<String>())
    }
}

/// Prints merged labels, label conflicts, and errors of reading there, for people.
pub fn print_merged(labels: usize, dry: bool, conflicts: &[LabelConflict], unreadable: &[String]) {
    if labels > 0 {
        let would = if dry { "would merge" } else { "merged" };
        print::message(&format!("{would} the labels of {}", plural(labels as u64, "run")));
    }
    let shown = |value: &Option<String>, by: &Option<String>| {
        let value = match value.as_deref() {
            None => "removed".to_owned(),
            Some("") => "set".to_owned(),
            Some(value) => format!("`{value}`"),
        };
        by.as_ref().map_or(value.clone(), |by| format!("{value} by {by}"))
    };
    for LabelConflict { run, field, kept, kept_by, other, other_by } in conflicts {
        let (kept, other) = (shown(kept, kept_by), shown(other, other_by));
        print::message(&format!("conflict: {run}: {field}: {kept} is kept, which was {other} in the other store"));
    }
    for text in unreadable {
        print::message(&format!("warning: cannot be read there: {text}"));
    }
}
