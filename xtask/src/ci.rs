//! The Rust half of `make test`, one step after the other.

use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Result, bail};

use crate::{
    format, generate,
    repository::Repository,
    test::{self, Selection},
    tidy,
};

/// Runs every step, also behind one that fails: one run reports all that does not hold. `quick` leaves the tests out.
///
/// # Errors
/// When a step failed; names them all.
pub fn run(repository: &Repository, quick: bool) -> Result<()> {
    let mut steps = Steps { repository, failed: Vec::new() };
    steps.step("format", || format::run(repository, true));
    steps.step("tidy", || tidy::run(repository));
    steps.step("generated pages", || generate::check(repository));
    steps.step("lints", || lints(repository));
    if !quick {
        steps.tests();
    }
    steps.script("licences and advisories", &["scripts/audit", "crates"]);
    if !steps.failed.is_empty() {
        bail!("failed: {}", steps.failed.join("; "));
    }
    Ok(())
}

struct Steps<'a> {
    repository: &'a Repository,
    /// Steps that failed, each with the reason.
    failed: Vec<String>,
}

impl Steps<'_> {
    fn step(&mut self, name: &str, work: impl FnOnce() -> Result<()>) {
        println!("--> {name}");
        let began = Instant::now();
        match work() {
            Ok(()) => println!("    {name}: {:.0} s", began.elapsed().as_secs_f64()),
            Err(error) => {
                println!("    {name} failed: {error:#}");
                self.failed.push(format!("{name} ({error:#})"));
            }
        }
    }

    /// Runs every test. In CI a test may be skipped only when the list allows it.
    fn tests(&mut self) {
        let strict = std::env::var_os("CI").is_some();
        let repository = self.repository;
        self.step("tests", || test::run(repository, &Selection::default(), strict));
    }

    fn script(&mut self, name: &str, words: &[&str]) {
        self.command(name, "bash", words);
    }

    fn command(&mut self, name: &str, program: &str, arguments: &[&str]) {
        let root = self.repository.root.clone();
        self.step(name, || {
            let status = Command::new(program).args(arguments).current_dir(root).status()?;
            if !status.success() {
                bail!("`{program} {}` failed", arguments.join(" "));
            }
            Ok(())
        });
    }
}

/// Builds what is tested and the examples, and takes no warning: clippy looks while test programs are compiled (scripts/rustc),
/// and cargo shows again what it printed about those that are built.
fn lints(repository: &Repository) -> Result<()> {
    if Command::new("clippy-driver").arg("--version").output().is_err() {
        bail!("`clippy-driver` is not there, so nothing was checked: `rustup component add clippy` installs it");
    }
    let build = ["build", "--locked", "--quiet", "--workspace", "--tests", "--bins", "--examples"];
    let done = Command::new(cargo()).args(build).current_dir(&repository.root).stdout(Stdio::inherit()).output()?;
    let said = String::from_utf8_lossy(&done.stderr);
    print!("{said}");
    let warnings = said.lines().filter(|line| line.starts_with("warning")).count();
    if !done.status.success() || warnings > 0 {
        bail!("`cargo {}`: {warnings} warnings", build.join(" "));
    }
    Ok(())
}

/// The cargo that runs this program.
pub fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}
