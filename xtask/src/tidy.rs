//! Checks of the sources that no other tool does. Each check is one function that gives complaints,
//! each naming its place; [`CHECKS`] lists them, and `cargo test` runs them as well.

mod files;
mod layers;
mod locks;
mod rust;
mod text;
mod weight;
pub mod words;

use anyhow::{Result, bail};

use crate::repository::Repository;

/// A check: its name and what it does.
type Check = (&'static str, fn(&Repository) -> Result<Vec<String>>);

/// Every check there is.
const CHECKS: &[Check] = &[
    ("crates depend only on crates above them", layers::dependency_order),
    ("what one crate alone may know", layers::exclusive_dependencies),
    ("the architecture page names every crate", layers::described),
    ("no command knows another, and options know none", layers::commands_apart),
    ("Rust files are documented and short", rust::check),
    ("no circle of more than three files", files::circles),
    ("the walks through files are short", files::walks),
    ("no unfinished work, machine paths or broken links", text::check),
    ("no large files", text::large_files),
    ("texts have the words of the field", words::check),
    ("lock files pin what they name", locks::check),
    ("the build is light", weight::check),
];

/// Runs every check and fails with all complaints.
pub fn run(repository: &Repository) -> Result<()> {
    let mut complaints = Vec::new();
    for (name, check) in CHECKS {
        let found = check(repository)?;
        println!("    {}: {name}", if found.is_empty() { "ok" } else { "NOT" });
        complaints.extend(found);
    }
    if !complaints.is_empty() {
        bail!("{} complaints\n  {}", complaints.len(), complaints.join("\n  "));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clone_is_tidy() {
        let repository = Repository::here();
        let complaints: Vec<String> = CHECKS.iter().flat_map(|(_, check)| check(&repository).unwrap()).collect();
        assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
    }
}
