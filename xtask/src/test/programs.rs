//! The test programs: cargo builds them and reports where they are; each lists its tests.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::pool::Job;
use crate::{ci::cargo, repository::Repository};

/// Facts on its package that cargo passes to a program: variable behind `CARGO_PKG_`, and member of the metadata.
const FACTS: &[(&str, &str)] = &[
    ("NAME", "name"),
    ("VERSION", "version"),
    ("DESCRIPTION", "description"),
    ("HOMEPAGE", "homepage"),
    ("REPOSITORY", "repository"),
    ("LICENSE", "license"),
    ("LICENSE_FILE", "license_file"),
    ("RUST_VERSION", "rust_version"),
    ("README", "readme"),
];

/// A program of tests.
#[derive(Debug)]
pub struct Program {
    /// Crate and target: `load/it`; `load/lib` has the unit tests.
    pub name: String,
    executable: PathBuf,
    /// The package's, in which its tests run.
    folder: PathBuf,
    variables: Vec<(String, OsString)>,
    /// Their names.
    pub tests: Vec<String>,
}

/// All that there is to run.
pub struct Programs {
    pub programs: Vec<Program>,
    /// The target folder.
    pub target: PathBuf,
    root: PathBuf,
    /// Arguments of cargo that select the packages, where one of them has documentation with tests.
    documentation: Option<Vec<String>>,
}

impl Programs {
    /// Builds the programs of some crates; of all when there are none.
    ///
    /// # Errors
    /// When they do not compile, or a crate is unknown.
    pub fn build(repository: &Repository, crates: &[String]) -> Result<Programs> {
        let metadata = ["metadata", "--locked", "--no-deps", "--format-version=1"];
        let metadata: Value =
            serde_json::from_str(&said(Command::new(cargo()).args(metadata).current_dir(&repository.root))?)?;
        let target = PathBuf::from(text(&metadata["target_directory"]));
        let packages: BTreeMap<&str, &Value> = list(&metadata["packages"]).map(|p| (text(&p["id"]), p)).collect();
        let chosen = chosen(crates, &packages)?;
        let mut build = Command::new(cargo());
        build.args(["test", "--locked", "--no-run", "--message-format=json-render-diagnostics"]).args(&chosen);
        let messages = said(build.current_dir(&repository.root)).context("the tests do not compile")?;
        let libraries = libraries(&target)?;
        let mut programs = Vec::new();
        for line in messages.lines() {
            let message: Value = serde_json::from_str(line)?;
            let Some(package) = packages.get(text(&message["package_id"])) else { continue };
            if let Some(mut program) = Program::of(&message, package) {
                program.variables.push(("LD_LIBRARY_PATH".to_owned(), libraries.clone()));
                program.tests = program.list()?;
                programs.push(program);
            }
        }
        let is_chosen = |package: &&&Value| {
            crates.is_empty() || crates.iter().any(|name| short(text(&package["name"])) == short(name))
        };
        let is_tested = |target: &Value| target["doctest"] == true;
        let documented = packages.values().filter(is_chosen).any(|package| list(&package["targets"]).any(is_tested));
        let documentation = documented.then_some(chosen);
        Ok(Programs { programs, target, root: repository.root.clone(), documentation })
    }

    /// Some that are not there.
    #[cfg(test)]
    pub fn of(programs: Vec<Program>) -> Programs {
        Programs { programs, target: PathBuf::new(), root: PathBuf::new(), documentation: None }
    }

    /// The examples in documentation, which rustdoc compiles and runs.
    pub fn documentation(&self, filter: Option<&str>, threads: usize, folder: &Path) -> Option<Job> {
        let mut command = Command::new(cargo());
        command.args(["test", "--locked", "--doc"]).args(self.documentation.as_ref()?).arg("--").args(filter);
        command.args(["--show-output", &format!("--test-threads={threads}")]).current_dir(&self.root);
        let program = "documentation".to_owned();
        Some(Job { program, part: "", command, threads, tests: Vec::new(), folder: folder.to_owned() })
    }
}

impl Program {
    /// One that a message of cargo lists as built.
    fn of(message: &Value, package: &Value) -> Option<Program> {
        if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
            return None;
        }
        let executable = PathBuf::from(message["executable"].as_str()?);
        let target = &message["target"];
        let is_library = list(&target["kind"]).any(|kind| kind == "lib");
        let target = if is_library { "lib" } else { text(&target["name"]) };
        let manifest = PathBuf::from(text(&package["manifest_path"]));
        let folder = manifest.parent()?.to_owned();
        let mut variables = vec![
            ("CARGO".to_owned(), cargo().into()),
            ("CARGO_MANIFEST_DIR".to_owned(), folder.clone().into()),
            ("CARGO_MANIFEST_PATH".to_owned(), manifest.into()),
        ];
        variables.extend(facts(package).map(|(name, value)| (format!("CARGO_PKG_{name}"), value.into())));
        let name = format!("{}/{target}", short(text(&package["name"])));
        Some(Program { name, executable, folder, variables, tests: Vec::new() })
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.executable);
        command.current_dir(&self.folder).envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    fn list(&self) -> Result<Vec<String>> {
        let said = said(self.command().args(["--list", "--format", "terse"]))?;
        Ok(said.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
    }

    /// Runs some of its tests.
    pub fn job(&self, tests: &[&str], threads: usize, folder: &Path, part: &'static str) -> Job {
        let mut command = self.command();
        let threads = threads.min(tests.len());
        command.args(["--show-output", "--exact", &format!("--test-threads={threads}")]);
        // Whichever are fewer, so that lists of processes stay readable.
        let others: Vec<&str> = self.tests.iter().map(String::as_str).filter(|test| !tests.contains(test)).collect();
        if others.len() < tests.len() {
            command.args(others.iter().flat_map(|test| ["--skip", test]));
        } else {
            command.args(tests);
        }
        let tests = tests.iter().map(|test| (*test).to_owned()).collect();
        Job { program: self.name.clone(), part, command, threads, tests, folder: folder.to_owned() }
    }

    /// One that is not there.
    #[cfg(test)]
    pub fn named(name: &str, tests: &[&str]) -> Program {
        let tests = tests.iter().map(|test| (*test).to_owned()).collect();
        let nothing = PathBuf::new();
        Program { name: name.to_owned(), executable: nothing.clone(), folder: nothing, variables: Vec::new(), tests }
    }
}

/// The name of a crate as people say it.
fn short(name: &str) -> &str {
    name.strip_prefix("fenxi-").unwrap_or(name)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Variables on a package that cargo passes to its programs, empty where the package does not set them.
fn facts(package: &Value) -> impl Iterator<Item = (&'static str, String)> {
    let fact = |(name, member): &(&'static str, &str)| (*name, text(&package[*member]).to_owned());
    let version = text(&package["version"]);
    let (number, pre) = version.split_once('-').unwrap_or((version, ""));
    let parts =
        ["VERSION_MAJOR", "VERSION_MINOR", "VERSION_PATCH"].into_iter().zip(number.split('.').map(str::to_owned));
    let authors = list(&package["authors"]).map(text).collect::<Vec<_>>().join(":");
    let more = [("VERSION_PRE", pre.to_owned()), ("AUTHORS", authors)];
    FACTS.iter().map(fact).collect::<Vec<_>>().into_iter().chain(parts.collect::<Vec<_>>()).chain(more)
}

/// Arguments of cargo that select crates.
fn chosen(crates: &[String], packages: &BTreeMap<&str, &Value>) -> Result<Vec<String>> {
    if crates.is_empty() {
        return Ok(vec!["--workspace".to_owned()]);
    }
    let mut words = Vec::new();
    for name in crates {
        let known = packages.values().map(|package| text(&package["name"])).find(|known| short(known) == short(name));
        words.extend(["-p".to_owned(), known.with_context(|| format!("there is no crate {name}"))?.to_owned()]);
    }
    Ok(words)
}

/// Where programs find libraries that are loaded, as cargo has it: what it built, the compiler's, and what was set before.
fn libraries(target: &Path) -> Result<OsString> {
    let mut compiler = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    let compiler = said(compiler.args(["--print", "target-libdir"]))?;
    let debug = target.join("debug");
    let mut folders = vec![debug.join("deps"), debug, PathBuf::from(compiler.trim_end())];
    folders.extend(std::env::split_paths(&std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default()));
    Ok(std::env::join_paths(folders)?)
}

/// The standard output of a command, when it ends well.
fn said(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("cannot start {}", command.get_program().display()))?;
    if !output.status.success() {
        bail!("`{}` failed", command.get_program().display());
    }
    Ok(String::from_utf8(output.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn programs_are_named_by_crate_and_target_and_run_as_cargo_runs_them() {
        let package = json!({
            "name": "fenxi-load", "version": "1.2.3-pre.4", "authors": ["A", "B"], "license": "X", "homepage": null,
            "manifest_path": "/clone/crates/load/Cargo.toml",
        });
        let message = |kind: &str, name: &str, test: bool| {
            json!({
                "reason": "compiler-artifact", "profile": { "test": test },
                "target": { "kind": [kind], "name": name }, "executable": "/target/debug/deps/x-1",
            })
        };
        let name = |kind: &str, name: &str| Program::of(&message(kind, name, true), &package).unwrap().name;
        assert_eq!(
            [name("lib", "fenxi_load"), name("test", "it"), name("bin", "y")],
            ["load/lib", "load/it", "load/y"]
        );
        assert!(Program::of(&message("bin", "y", false), &package).is_none());
        let program = Program::of(&message("test", "it", true), &package).unwrap();
        let command = program.command();
        assert_eq!(command.get_current_dir(), Some(Path::new("/clone/crates/load")));
        let variable = |name: &str| command.get_envs().find(|(key, _)| *key == name).and_then(|(_, value)| value);
        let expected = [
            ("CARGO_MANIFEST_DIR", "/clone/crates/load"),
            ("CARGO_PKG_NAME", "fenxi-load"),
            ("CARGO_PKG_VERSION", "1.2.3-pre.4"),
            ("CARGO_PKG_VERSION_PATCH", "3"),
            ("CARGO_PKG_VERSION_PRE", "pre.4"),
            ("CARGO_PKG_AUTHORS", "A:B"),
            ("CARGO_PKG_HOMEPAGE", ""),
        ];
        for (name, value) in expected {
            assert_eq!(variable(name), Some(value.as_ref()), "{name}");
        }
    }

    #[test]
    fn only_the_tests_that_are_asked_for_are_named_to_a_program() {
        let program = Program::named("load/it", &["a", "b", "c"]);
        let words = |tests: &[&str]| -> Vec<OsString> {
            program.job(tests, 8, Path::new("x"), "").command.get_args().skip(2).map(ToOwned::to_owned).collect()
        };
        assert_eq!(words(&["a", "b", "c"]), ["--test-threads=3"]);
        assert_eq!(words(&["a", "c"]), ["--test-threads=2", "--skip", "b"]);
        assert_eq!(words(&["b"]), ["--test-threads=1", "b"]);
    }
}
