//! Manifest of an imported run, accepted only if it is complete and names the files that are there.

use std::{collections::BTreeSet, path::PathBuf};

use fenxi_model::RunId;

use super::broken;
use crate::{FORMAT, FileEntry, Manifest, StoreError, archive::run_file, seal::manifest_is_intact};

/// The manifest in `text`, if it is the whole and unchanged one of the run `id`, and all files that it names are where a
/// run has its own.
pub(super) fn manifest(id: &RunId, text: &[u8]) -> Result<Manifest, StoreError> {
    let wrong = |what: String| broken(format!("is damaged: the manifest of {id} {what}"));
    let manifest: Manifest = serde_json::from_slice(text).map_err(|e| wrong(format!("cannot be read: {e}")))?;
    if manifest.format > FORMAT {
        let path = PathBuf::from(run_file(id, "run.json"));
        return Err(StoreError::Version { path, found: manifest.format, known: FORMAT });
    }
    if manifest.id != *id {
        return Err(wrong(format!("is that of {:?}", manifest.id.as_str())));
    }
    if !manifest_is_intact(&String::from_utf8_lossy(text), &manifest.digest) {
        return Err(wrong("was changed: its digest does not fit".to_owned()));
    }
    let mut names = BTreeSet::new();
    for file in &manifest.files {
        if !is_own(file) {
            return Err(wrong(format!("names {:?}, which is no file of a run", file.name)));
        }
        if !names.insert(file.name.as_str()) {
            return Err(wrong(format!("names {} twice", file.name)));
        }
    }
    match manifest.inputs.iter().find(|input| !names.contains(input.raw.name.as_str())) {
        Some(input) => Err(wrong(format!("keeps an input in {:?}, which is none of its files", input.raw.name))),
        None => Ok(manifest),
    }
}

/// Whether a file is of those that runs have: `<table>.parquet`, or `raw/<name>`.
fn is_own(file: &FileEntry) -> bool {
    let is_plain = |name: &str| {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"._-+@=".contains(&b);
        !name.is_empty() && name.len() <= 200 && !name.starts_with('.') && name.bytes().all(plain)
    };
    match (&file.table, file.name.strip_prefix("raw/")) {
        (Some(table), None) => is_plain(table) && file.name.strip_suffix(".parquet") == Some(table.as_str()),
        (None, Some(name)) => is_plain(name),
        _ => false,
    }
}
