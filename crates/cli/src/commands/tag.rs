//! `fenxi tag`.

use std::process::ExitCode;

use clap::Args;
use fenxi_store::{Labels, StoreError};

use crate::{
    options::{Global, key_value},
    print, stores,
};

/// `fenxi tag`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  fenxi tag @1 kernel=6.18 good=yes\n  fenxi tag @1 good=    (removes the tag)")]
pub struct TagArgs {
    /// Run to change
    pub run: String,
    /// Tags to set; KEY= removes one
    #[arg(value_name = "KEY=VALUE", value_parser = key_value)]
    pub tags: Vec<(String, String)>,
    /// Rename the run
    #[arg(long)]
    pub name: Option<String>,
    /// Add a remark
    #[arg(long = "remark", value_name = "TEXT")]
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
            let tags: Vec<_> = labels.tags.iter().map(|(k, v)| format!("{k}={v}")).collect();
            print::message(&format!("{id}: {}", if tags.is_empty() { "no tags".to_owned() } else { tags.join(" ") }));
        }
    }
    Ok(ExitCode::SUCCESS)
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
