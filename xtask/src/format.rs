//! Formats every Rust file. `cargo fmt` finds files by `mod` and would pass over those that a list (a macro) declares.

use std::{ffi::OsStr, process::Command};

use anyhow::{Result, bail};

use crate::repository::Repository;

/// Formats all files, or fails and shows what differs.
pub fn run(repository: &Repository, check: bool) -> Result<()> {
    let rustfmt = std::env::var_os("RUSTFMT").unwrap_or_else(|| "rustfmt".into());
    let files: Vec<String> = repository.files()?.into_iter().filter(|file| file.ends_with(".rs")).collect();
    let mut command = Command::new(rustfmt);
    command.args(check.then_some(OsStr::new("--check"))).args(&files).current_dir(&repository.root);
    if !command.status()?.success() {
        bail!("{}", if check { "not formatted: `cargo xtask fmt` does it" } else { "rustfmt failed" });
    }
    Ok(())
}
