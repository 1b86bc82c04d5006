//! `fenxi tag`.

use std::process::ExitCode;

use fenxi_store::{Labels, StoreError};

use crate::{
    args::{Cli, TagArgs},
    print, stores,
};

/// Changes what may change of runs: name, tags, remarks.
pub fn run(cli: &Cli, args: &TagArgs) -> anyhow::Result<ExitCode> {
    let store = stores::open(cli)?;
    for id in store.select_all([&args.run])? {
        let labels = store.change_labels(&id, |entry| {
            change(&mut entry.labels, args);
            Ok::<_, StoreError>(entry.labels.clone())
        })?;
        if !cli.quiet {
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
