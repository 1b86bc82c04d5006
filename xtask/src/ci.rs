//! The Rust half of `make test`, one step after the other.

use std::process::Command;
use std::time::Instant;

use anyhow::{Result, bail};

use crate::{format, generate, repository::Repository, tidy};

/// Runs every step; the first that fails ends it. `quick` leaves the tests out.
pub fn run(repository: &Repository, quick: bool) -> Result<()> {
    let mut steps = Steps { repository };
    steps.step("format", || format::run(repository, true))?;
    steps.step("tidy", || tidy::run(repository))?;
    steps.step("generated pages", || generate::check(repository))?;
    let lints = ["clippy", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"];
    steps.cargo("lints", &lints)?;
    if !quick {
        steps.cargo("tests", &["test", "--locked", "--workspace"])?;
    }
    if steps.has_deny() {
        steps.cargo("licences and advisories", &["deny", "--locked", "check"])?;
    } else {
        println!("SKIPPED: licences and advisories: cargo-deny is not installed (cargo install --locked cargo-deny)");
    }
    Ok(())
}

struct Steps<'a> {
    repository: &'a Repository,
}

impl Steps<'_> {
    fn step(&mut self, name: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
        println!("--> {name}");
        let began = Instant::now();
        work()?;
        println!("    {name}: {:.0} s", began.elapsed().as_secs_f64());
        Ok(())
    }

    fn cargo(&mut self, name: &str, arguments: &[&str]) -> Result<()> {
        let root = self.repository.root.clone();
        self.step(name, || {
            let status = Command::new(cargo()).args(arguments).current_dir(root).status()?;
            if !status.success() {
                bail!("`cargo {}` failed", arguments.join(" "));
            }
            Ok(())
        })
    }

    fn has_deny(&self) -> bool {
        let output = Command::new(cargo()).args(["deny", "--version"]).output();
        output.is_ok_and(|o| o.status.success())
    }
}

/// The cargo that runs this program.
fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}
