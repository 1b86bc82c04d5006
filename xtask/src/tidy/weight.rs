//! How heavy the build is. It grows by one harmless crate or derive at a time, so there are limits: what exceeds one is made
//! lighter, or raises it in the open.

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::repository::Repository;

/// How many crates the command may consist of, ours among them, as `cargo tree` counts them.
const MOST_CRATES: usize = 300;

/// The most that a compiler may take for one crate, in seconds, on the machine that the page names.
const MOST_SECONDS: f64 = 170.0;

/// The page with what crates take; `bench/build.py` writes it.
const PAGE: &str = "bench/results/build.md";

/// Complains about too many crates, and about crates that take too long to compile.
pub fn check(repository: &Repository) -> Result<Vec<String>> {
    let mut complaints = slow(&repository.read(PAGE)?);
    complaints.extend(many(&tree(repository)?));
    Ok(complaints)
}

/// Output of `cargo tree`: the crates that the command needs on this machine.
fn tree(repository: &Repository) -> Result<String> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["tree", "--locked", "--package", "fenxi-cli", "--edges", "normal,build", "--prefix", "none"]);
    let output = cargo.current_dir(&repository.root).output().context("running `cargo tree`")?;
    if !output.status.success() {
        bail!("`cargo tree` failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
}

fn many(tree: &str) -> Option<String> {
    // A name and a version; the rest is its place, or that it was listed before.
    let crates: BTreeSet<Vec<&str>> = tree.lines().map(|line| line.split(' ').take(2).collect()).collect();
    let count = crates.len();
    (count > MOST_CRATES).then(|| format!("Cargo.lock: fenxi-cli consists of {count} crates, more than {MOST_CRATES}"))
}

/// Reads rows like `` | `fenxi-formats` | 61.3 | ``.
fn slow(page: &str) -> Vec<String> {
    let rows: Vec<(&str, f64)> = page.lines().filter_map(row).collect();
    if rows.is_empty() {
        return vec![format!("{PAGE}: has no row of a crate; `bench/build.py --only units` writes them")];
    }
    let slow = rows.iter().filter(|(_, seconds)| *seconds > MOST_SECONDS);
    slow.map(|(name, seconds)| format!("{PAGE}: {name} takes {seconds} s to compile, more than {MOST_SECONDS}"))
        .collect()
}

fn row(line: &str) -> Option<(&str, f64)> {
    let (name, rest) = line.strip_prefix("| `")?.split_once("` | ")?;
    Some((name, rest.strip_suffix(" |")?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_that_takes_long_is_named() {
        let page = format!("| crate | s |\n| `a` | {MOST_SECONDS:.1} |\n| `b` | {:.1} |\n", MOST_SECONDS + 0.1);
        let named = slow(&page);
        assert_eq!(named.len(), 1, "{named:?}");
        assert!(named[0].contains("b takes"), "{named:?}");
    }

    #[test]
    fn a_page_without_crates_is_named() {
        assert_eq!(slow("| `make demo` from nothing | 12:00 min | 18:00 min | abc |").len(), 1);
    }

    #[test]
    fn crates_are_counted_once_each() {
        let line = |n: usize| format!("crate-{n} v1.0.0\ncrate-{n} v1.0.0 (*)\n");
        let tree: String = (0..MOST_CRATES).map(line).collect();
        assert_eq!(many(&tree), None);
        assert!(many(&(tree + "crate-0 v2.0.0\n")).is_some());
    }
}
