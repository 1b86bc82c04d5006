//! `fenxi format check`: what the tests of shipped descriptions try, for a description of the user's.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use fenxi_formats::check::{Check, Text, check};
use serde_json::json;

use super::{bytes_of, described};
use crate::{options::JsonArgs, print};

/// Where texts are that are of no tool.
const ORDINARY: &[&str] = &["/etc", "/usr/share/doc"];
/// How many of them are tried, of one folder and in all.
const OF_A_FOLDER: usize = 10;
const IN_ALL: usize = 400;
/// Longer ones are not.
const LONGEST: u64 = 256 << 10;

/// `fenxi format check`
#[derive(Debug, Args)]
#[command(after_help = "\
Each description is tried on its example and the texts named: it reads them
without a note, recognises them, leaves the texts of all other formats and
ordinary ones (of this machine too) alone, reports garbage, and survives
damage. The exit status is 1 where anything is wrong.

Examples:
  fenxi format check pool.toml
  fenxi format check pool.toml --text pool.log --text pool-2.log")]
pub struct CheckArgs {
    /// Descriptions to check
    #[arg(value_name = "X.toml", required = true)]
    pub descriptions: Vec<PathBuf>,
    /// Text that they are for (repeatable)
    #[arg(long, value_name = "FILE")]
    pub text: Vec<PathBuf>,
    /// Form of the output
    #[command(flatten)]
    pub form: JsonArgs,
}

/// Checks them.
pub fn run(args: &CheckArgs) -> anyhow::Result<ExitCode> {
    let texts: anyhow::Result<Vec<Text>> =
        args.text.iter().map(|path| Ok((path.display().to_string(), bytes_of(path)?))).collect();
    let texts = texts?;
    let ordinary = ordinary();
    let (mut out, mut wrong) = (String::new(), false);
    for path in &args.descriptions {
        let checks = match described(path) {
            Ok(format) => check(&format, &texts, &ordinary),
            Err(error) => {
                let why = vec![format!("{error:#}")];
                vec![Check { what: "description", found: "it cannot be read".to_owned(), wrong: why }]
            }
        };
        wrong |= checks.iter().any(|check| !check.wrong.is_empty());
        out.push_str(&if args.form.is_json() { lines(path, &checks) } else { page(path, &checks) });
    }
    print::paged(print::Form::json_if(args.form.is_json()), &out)?;
    Ok(if wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// An object for each check.
fn lines(path: &Path, checks: &[Check]) -> String {
    let line = |check: &Check| {
        let (file, ok) = (path.display().to_string(), check.wrong.is_empty());
        json!({ "file": file, "check": check.what, "ok": ok, "found": check.found, "wrong": check.wrong }).to_string()
            + "\n"
    };
    checks.iter().map(line).collect()
}

/// A line for each check, and below it what is wrong.
fn page(path: &Path, checks: &[Check]) -> String {
    let mut text = format!("{}\n", path.display());
    for check in checks {
        let mark = if check.wrong.is_empty() { "ok   " } else { "WRONG" };
        text.push_str(&format!("  {mark}  {:<10}  {}\n", check.what, check.found));
        for wrong in &check.wrong {
            let wrapped = print::for_terminal(&format!("           {}", wrong.replace('\n', "; ")));
            text.push_str(wrapped.trim_end());
            text.push('\n');
        }
    }
    let n = checks.iter().filter(|check| !check.wrong.is_empty()).count();
    text.push_str(&match n {
        0 => "all is right\n".to_owned(),
        n => format!("{n} of {} checks failed\n", checks.len()),
    });
    text
}

/// Texts of this machine that no tool has printed.
fn ordinary() -> Vec<Text> {
    let mut all = Vec::new();
    ORDINARY.iter().for_each(|folder| gather(Path::new(folder), &mut all, 4));
    all
}

fn gather(folder: &Path, all: &mut Vec<Text>, depth: usize) {
    let Ok(entries) = fs_err::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let mut here = 0;
    for path in paths {
        let Ok(meta) = fs_err::symlink_metadata(&path) else { continue };
        if all.len() >= IN_ALL {
            return;
        }
        if meta.is_dir() && depth > 0 {
            gather(&path, all, depth - 1);
        } else if meta.is_file() && meta.len() > 0 && meta.len() <= LONGEST && here < OF_A_FOLDER {
            let Ok(bytes) = fs_err::read(&path) else { continue };
            if !bytes.contains(&0) {
                here += 1;
                all.push((path.display().to_string(), bytes));
            }
        }
    }
}
