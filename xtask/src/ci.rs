//! The Rust half of `make test`, one step after the other.

use std::process::Command;
use std::time::Instant;

use anyhow::{Result, bail};

use crate::{format, generate, repository::Repository, skips, tidy};

/// Runs every step; the first that fails ends it. `quick` leaves the tests out.
pub fn run(repository: &Repository, quick: bool) -> Result<()> {
    let mut steps = Steps { repository };
    steps.step("format", || format::run(repository, true))?;
    steps.step("tidy", || tidy::run(repository))?;
    steps.step("generated pages", || generate::check(repository))?;
    let lints = ["clippy", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"];
    steps.cargo("lints", &lints)?;
    if !quick {
        steps.tests()?;
    }
    steps.script("licences and advisories", &["scripts/audit", "crates"])?;
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
        self.command(name, &cargo(), arguments)
    }

    /// Runs every test. In CI a test may be skipped only when the list allows it.
    fn tests(&mut self) -> Result<()> {
        let strict = std::env::var_os("CI").is_some();
        let root = self.repository.root.clone();
        self.step("tests", || {
            let tests = || {
                let mut command = Command::new(cargo());
                command.args(["test", "--locked", "--workspace", "--no-fail-fast"]).current_dir(&root);
                command
            };
            skips::run(tests, strict)
        })
    }

    fn script(&mut self, name: &str, words: &[&str]) -> Result<()> {
        self.command(name, "bash", words)
    }

    fn command(&mut self, name: &str, program: &str, arguments: &[&str]) -> Result<()> {
        let root = self.repository.root.clone();
        self.step(name, || {
            let status = Command::new(program).args(arguments).current_dir(root).status()?;
            if !status.success() {
                bail!("`{program} {}` failed", arguments.join(" "));
            }
            Ok(())
        })
    }
}

/// The cargo that runs this program.
fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}
