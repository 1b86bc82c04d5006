//! Chores of the project, run as `cargo xtask CHORE`:
//!
//! * `ci [--quick]`: format, lints, tidiness, generated pages; unless quick also the tests
//! * `test [-p CRATE]… [FILTER]`: the tests of all crates or of some, of all names or of those that contain the filter
//! * `fmt`: formats every Rust file
//! * `gen [--check]`: writes the generated pages; with `--check` only fails when one is stale
//! * `tidy`: what no other tool checks about the sources
//! * `words [FOLDER]`: expressions that `tidy` counts as wrong, with what to write instead
//!
//! They work on the clone they were built from and need nothing but cargo.

#![allow(clippy::print_stdout, reason = "a chore prints its results")]

mod api_types;
mod ci;
mod findings;
mod format;
mod generate;
mod notices;
mod repository;
mod test;
mod tidy;

use std::process::ExitCode;

use repository::Repository;
use test::Selection;

const USAGE: &str =
    "usage: cargo xtask ci [--quick] | test [-p CRATE]… [FILTER] | fmt | gen [--check] | tidy | words [FOLDER]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let repository = Repository::here();
    let outcome = match arguments.as_slice() {
        ["ci"] => ci::run(&repository, false),
        ["ci", "--quick"] => ci::run(&repository, true),
        ["test", words @ ..] => match Selection::parse(words) {
            Some(selection) => test::run(&repository, &selection, false),
            None => return usage(),
        },
        ["fmt"] => format::run(&repository, false),
        ["gen"] => generate::write(&repository),
        ["gen", "--check"] => generate::check(&repository),
        ["tidy"] => tidy::run(&repository),
        ["words"] => tidy::words::show(&repository, ""),
        ["words", folder] => tidy::words::show(&repository, folder),
        _ => return usage(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    println!("{USAGE}");
    ExitCode::from(2)
}
