//! Dependencies follow the data: a crate may depend only on crates above it in the workspace's
//! list of members, and some outside crates may be known in one place only.

use anyhow::Result;

use crate::repository::{Crate, FOR_TESTS, Repository};

/// Outside crates that only one of ours may depend on, and why.
const EXCLUSIVE: &[(&str, &[&str], &str)] = &[
    ("duckdb", &[], "`engine` calls the engine's C interface itself"),
    ("libduckdb-sys", &[], "`engine` calls the engine's C interface itself"),
    ("clap", &["fenxi-cli", "fenxi-fuzz"], "only `cli` knows arguments"),
    ("indicatif", &["fenxi-cli"], "only `cli` prints"),
    ("anyhow", &["fenxi-cli", "fenxi-fuzz", "xtask"], "libraries have typed errors"),
    (FOR_TESTS, &["fenxi-fuzz"], "tests share it; the program does not use it"),
];

/// Complains about dependencies on the crate itself or on a later one.
pub fn dependency_order(repository: &Repository) -> Result<Vec<String>> {
    Ok(out_of_order(&repository.crates()?))
}

fn out_of_order(crates: &[Crate]) -> Vec<String> {
    let place = |name: &str| crates.iter().position(|c| c.name == name);
    let mut complaints = Vec::new();
    for (own, c) in crates.iter().enumerate() {
        for dependency in &c.dependencies {
            if place(dependency).is_some_and(|other| other >= own) {
                complaints
                    .push(format!("{}/Cargo.toml: {} depends on {dependency}, which comes later", c.folder, c.name));
            }
        }
    }
    complaints
}

/// Complains about outside crates known where they should not be.
pub fn exclusive_dependencies(repository: &Repository) -> Result<Vec<String>> {
    let mut complaints = Vec::new();
    for c in repository.crates()? {
        for (outside, allowed, why) in EXCLUSIVE {
            if c.dependencies.iter().any(|d| d == outside) && !allowed.contains(&c.name.as_str()) {
                complaints.push(format!("{}/Cargo.toml: {} may not depend on {outside}: {why}", c.folder, c.name));
            }
        }
    }
    Ok(complaints)
}

/// Where a newcomer looks for a crate.
const ARCHITECTURE: &str = "docs/ARCHITECTURE.md";

/// Complains about crates that the architecture page does not describe: it begins a description with the name in bold.
pub fn described(repository: &Repository) -> Result<Vec<String>> {
    let page = repository.read(ARCHITECTURE)?;
    let crates = repository.crates()?;
    let names = crates.iter().filter_map(|c| c.folder.strip_prefix("crates/"));
    let missing = names.filter(|name| !page.contains(&format!("**{name}**")));
    Ok(missing.map(|name| format!("{ARCHITECTURE}: says nothing of the crate {name}")).collect())
}

/// Folders of `cli` whose files name no command: commands themselves, and what several of them take.
const APART: [&str; 2] = ["crates/cli/src/commands/", "crates/cli/src/options/"];

/// Complains about commands that use another one, and about options that use any.
pub fn commands_apart(repository: &Repository) -> Result<Vec<String>> {
    let mut complaints = Vec::new();
    for file in repository.files()? {
        if APART.iter().any(|folder| file.starts_with(folder)) && names_a_command(&repository.read(&file)?) {
            complaints.push(format!("{file}: uses a command; what several need is in a module beside `commands`"));
        }
    }
    Ok(complaints)
}

/// Whether Rust code names a module of `commands`.
fn names_a_command(text: &str) -> bool {
    text.contains("commands::") || text.contains("crate::commands")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, dependencies: &[&str]) -> Crate {
        Crate {
            folder: name.to_owned(),
            name: name.to_owned(),
            description: String::new(),
            dependencies: dependencies.iter().map(|d| (*d).to_owned()).collect(),
        }
    }

    #[test]
    fn a_dependency_on_a_later_crate_is_found() {
        let crates = [named("model", &["serde"]), named("store", &["model", "query"]), named("query", &["store"])];
        assert_eq!(out_of_order(&crates), ["store/Cargo.toml: store depends on query, which comes later"]);
    }

    #[test]
    fn a_command_that_uses_another_is_found() {
        for text in ["use crate::{\n    commands::sql,\n};", "let list = crate::commands::sql::list();"] {
            assert!(names_a_command(text), "{text}");
        }
        assert!(!names_a_command("for (_, commands) in GROUPS {}\nuse crate::{options::Global, print};"));
    }

    #[test]
    fn every_crate_of_the_folder_is_in_the_workspace() {
        let repository = Repository::here();
        let listed: Vec<String> = repository.crates().unwrap().into_iter().map(|c| c.folder).collect();
        for entry in fs_err::read_dir(repository.root.join("crates")).unwrap() {
            let entry = entry.unwrap();
            if entry.path().join("Cargo.toml").exists() {
                let folder = format!("crates/{}", entry.file_name().to_string_lossy());
                assert!(listed.contains(&folder), "{folder} is not a member of the workspace");
            }
        }
    }
}
