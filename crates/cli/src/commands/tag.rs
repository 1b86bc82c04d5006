//! `fenxi label tag`.

use std::process::ExitCode;

use clap::Args;
use fenxi_store::{Labels, StoreError};

use crate::{
    options::{Global, key_value},
    print, stores,
};

/// `fenxi label tag`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  fenxi label tag @1 kernel=6.18 good=yes
  fenxi label tag @1 good=    (removes the tag)")]
pub struct TagArgs {
    /// Run to change
    #[arg(value_name = "RUN")]
    pub run: String,
    /// Tags to set; KEY= removes one
    #[arg(value_name = "KEY=VALUE", value_parser = key_value)]
    pub tags: Vec<(String, String)>,
    /// Rename the run, as `fenxi label name` does
    #[arg(long, hide = true)]
    pub name: Option<String>,
    /// Add a remark, as `fenxi label remark` does
    #[arg(long = "remark", value_name = "TEXT", hide = true)]
    pub remarks: Option<String>,
}

/// Changes what may change of runs: name, tags, remarks.
pub fn run(global: &Global, args: &TagArgs) -> anyhow::Result<ExitCode> {
    let store = stores::open(global)?;
    for id in store.select_runs([&args.run])? {
        let labels = store.change_labels(&id, |entry| {
            change(&mut entry.labels, args);
            Ok::<_, StoreError>(entry.labels.clone())
        })?;
        if !global.quiet {
            print::message(&format!("{id}: {}", said(&labels, args)));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Current values of the labels that were changed.
fn said(labels: &Labels, args: &TagArgs) -> String {
    let name = args.name.as_ref().map(|_| match &labels.name {
        Some(name) => format!("named `{name}`"),
        None => "no name".to_owned(),
    });
    let remark = args.remarks.as_ref().map(|_| "remark added".to_owned());
    let tags: Vec<_> = labels.tags.iter().map(|(k, v)| format!("{k}={v}")).collect();
    let tags = match tags.is_empty() {
        _ if args.tags.is_empty() && (name.is_some() || remark.is_some()) => None,
        true => Some("no tags".to_owned()),
        false => Some(tags.join(" ")),
    };
    name.into_iter().chain(remark).chain(tags).collect::<Vec<_>>().join("; ")
}

fn change(labels: &mut Labels, args: &TagArgs) {
    for (key, value) in &args.tags {
        if value.is_empty() {
            labels.tags.remove(key);
        } else {
            labels.tags.insert(key.clone(), value.clone());
        }
    }
    if let Some(name) = &args.name {
        labels.name = (!name.is_empty()).then(|| name.clone());
    }
    if let Some(remarks) = &args.remarks {
        labels.remarks.push(remarks.clone());
    }
}
