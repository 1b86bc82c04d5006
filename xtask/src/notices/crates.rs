//! The crates that are linked into the programs, asked from cargo, with the licence texts that their packages hold.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::repository::Repository;

/// The programs' crate: what it needs is what is shipped.
const PROGRAMS: &str = "fenxi-cli";

/// Programs are built for these; what only one of them links is named as well.
const TARGETS: [&str; 2] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];

/// How names of files with licence texts begin, in small letters.
const BEGINNINGS: [&str; 6] = ["license", "licence", "copying", "copyright", "notice", "unlicense"];

/// Endings of files that are called so and are sources.
const SOURCES: [&str; 6] = ["rs", "c", "h", "sh", "py", "toml"];

/// A crate of the registry that is linked.
pub struct Linked {
    pub name: String,
    pub version: String,
    /// Its licence expression.
    pub licence: String,
    /// Where its sources are.
    pub folder: PathBuf,
}

impl Linked {
    /// Its licence files from its folder, sorted.
    pub fn files(&self) -> Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        let mut folders = vec![self.folder.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs_err::read_dir(&folder)? {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                } else if is_licence(&path) {
                    found.push(path.strip_prefix(&self.folder)?.to_path_buf());
                }
            }
        }
        found.sort();
        Ok(found)
    }
}

fn is_licence(path: &Path) -> bool {
    let name = path.file_name().map(|n| n.to_string_lossy().to_lowercase()).unwrap_or_default();
    let source = path.extension().is_some_and(|e| SOURCES.iter().any(|s| e == *s));
    !source
        && BEGINNINGS.iter().any(|b| name.strip_prefix(b).is_some_and(|rest| !rest.starts_with(char::is_alphabetic)))
        || name == "licenses.md"
}

/// Every crate that is linked, by name and version. Macros and build scripts are not: they only run while compiling.
pub fn linked(repository: &Repository) -> Result<Vec<Linked>> {
    let mut all = BTreeMap::new();
    for target in TARGETS {
        let metadata = metadata(repository, target)?;
        for linked in of_target(&metadata)? {
            all.insert((linked.name.clone(), linked.version.clone()), linked);
        }
    }
    Ok(all.into_values().collect())
}

fn metadata(repository: &Repository, target: &str) -> Result<Value> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args(["metadata", "--locked", "--format-version", "1", "--filter-platform", target])
        .current_dir(&repository.root)
        .output()?;
    if !output.status.success() {
        bail!("`cargo metadata` failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn of_target(metadata: &Value) -> Result<Vec<Linked>> {
    let by_id = |list: &'static str, value: &Value| -> BTreeMap<String, Value> {
        let items = value[list].as_array().into_iter().flatten();
        items.filter_map(|item| Some((item["id"].as_str()?.to_owned(), item.clone()))).collect()
    };
    let packages = by_id("packages", metadata);
    let nodes = by_id("nodes", &metadata["resolve"]);
    let programs =
        packages.iter().find(|(_, p)| p["name"] == PROGRAMS).context("cargo knows no crate of the programs")?;

    let mut seen = BTreeSet::new();
    let mut open = vec![programs.0.clone()];
    while let Some(id) = open.pop() {
        if packages.get(&id).is_none_or(is_macro) || !seen.insert(id.clone()) {
            continue;
        }
        for dependency in nodes.get(&id).and_then(|n| n["deps"].as_array()).into_iter().flatten() {
            let kinds = dependency["dep_kinds"].as_array();
            if kinds.is_some_and(|kinds| kinds.iter().any(|k| k["kind"].is_null())) {
                open.extend(dependency["pkg"].as_str().map(str::to_owned));
            }
        }
    }
    // Ours have no source.
    let outside = seen.iter().filter_map(|id| packages.get(id)).filter(|p| !p["source"].is_null());
    outside.map(crate_of).collect()
}

fn is_macro(package: &Value) -> bool {
    let kinds = package["targets"].as_array().into_iter().flatten().filter_map(|t| t["kind"].as_array()).flatten();
    kinds.into_iter().any(|kind| kind == "proc-macro")
}

fn crate_of(package: &Value) -> Result<Linked> {
    let text = |key: &str| package[key].as_str().map(str::to_owned);
    let name = text("name").context("a crate without a name")?;
    let licence = text("license").with_context(|| format!("crate {name} names no licence"))?;
    let manifest = text("manifest_path").unwrap_or_default();
    let folder = Path::new(&manifest).parent().map(PathBuf::from).unwrap_or_default();
    Ok(Linked { name, version: text("version").unwrap_or_default(), licence, folder })
}
