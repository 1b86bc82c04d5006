//! The clone: its files, and its crates in the order of the workspace's list.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Folders that hold nothing of ours, wherever they stand.
const SKIPPED: &[&str] = &[".git", "node_modules", "target", "demo-store"];

/// Where the clone is.
pub struct Repository {
    /// Its top folder.
    pub root: PathBuf,
}

/// A crate of the workspace.
pub struct Crate {
    /// Its folder from the top, as the workspace lists it.
    pub folder: String,
    /// Its name.
    pub name: String,
    /// Its purpose, in one line.
    pub description: String,
    /// Names of all its dependencies, for building and for tests, but what its tests share with those of others.
    pub dependencies: Vec<String>,
}

impl Repository {
    /// The clone that this program was built from.
    pub fn here() -> Repository {
        let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
        Repository { root: xtask.parent().unwrap_or(xtask).to_path_buf() }
    }

    /// Reads a file by its path from the top.
    pub fn read(&self, path: &str) -> Result<String> {
        Ok(fs_err::read_to_string(self.root.join(path))?)
    }

    /// The crates, in the order in which data flows.
    pub fn crates(&self) -> Result<Vec<Crate>> {
        let workspace: toml::Table = self.read("Cargo.toml")?.parse()?;
        let members = workspace["workspace"]["members"].as_array().context("Cargo.toml lists no members")?;
        members.iter().filter_map(toml::Value::as_str).map(|folder| self.read_crate(folder)).collect()
    }

    fn read_crate(&self, folder: &str) -> Result<Crate> {
        let path = format!("{folder}/Cargo.toml");
        let manifest: toml::Table = self.read(&path)?.parse().with_context(|| path.clone())?;
        let text = |key: &str| {
            let value = manifest.get("package").and_then(|p| p.get(key)).and_then(toml::Value::as_str);
            value.map(str::to_owned).with_context(|| format!("{path} has no {key}"))
        };
        Ok(Crate {
            folder: folder.to_owned(),
            name: text("name")?,
            description: text("description")?,
            dependencies: dependencies(&manifest),
        })
    }

    /// Every file of ours with its path from the top, sorted; products and what git ignores left out.
    pub fn files(&self) -> Result<Vec<String>> {
        let ignored = self.read(".gitignore")?;
        let ignored: Vec<&str> = ignored.lines().filter_map(|l| l.strip_prefix('/')).collect();
        let mut found = Vec::new();
        let mut folders = vec![self.root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs_err::read_dir(&folder)? {
                let entry = entry?;
                let path = entry.path();
                let name = entry.file_name();
                let from_top = path.strip_prefix(&self.root)?.to_string_lossy().into_owned();
                if ignored.contains(&from_top.as_str()) || SKIPPED.iter().any(|s| name == *s) {
                    continue;
                }
                let kind = entry.file_type()?;
                if kind.is_dir() {
                    folders.push(path);
                } else if kind.is_file() {
                    found.push(from_top);
                }
            }
        }
        found.sort();
        Ok(found)
    }
}

/// The crate that tests of crates share. It uses some of those crates, and their tests use it.
pub const FOR_TESTS: &str = "fenxi-test-support";

/// Every dependency that a manifest names, in whatever section, but [`FOR_TESTS`] among those for tests.
fn dependencies(manifest: &toml::Table) -> Vec<String> {
    const OF_TESTS: &str = "dev-dependencies";
    const SECTIONS: [&str; 3] = ["dependencies", OF_TESTS, "build-dependencies"];
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let per_target = targets.into_iter().flat_map(|t| t.values()).filter_map(toml::Value::as_table);
    std::iter::once(manifest)
        .chain(per_target)
        .flat_map(|owner| SECTIONS.iter().filter_map(|s| Some((*s, owner.get(*s)?.as_table()?))))
        .flat_map(|(section, names)| names.keys().filter(move |name| section != OF_TESTS || *name != FOR_TESTS))
        .cloned()
        .collect()
}
