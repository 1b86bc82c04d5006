//! `fenxi report`.

use std::{path::Path, process::ExitCode};

use fenxi_model::Unit;
use fenxi_query::Engine;
use fs_err as fs;

use crate::{
    args::{Cli, ReportArgs},
    print,
    progress::plural,
    stores,
};

/// Draws runs into one HTML file.
pub fn run(cli: &Cli, args: &ReportArgs) -> anyhow::Result<ExitCode> {
    let store = stores::open(cli)?;
    let runs = store.select_all(&args.runs)?;
    let engine = Engine::open(&store, &fenxi_query::Options::default())?;
    let html = fenxi_report::render(&engine, &store, &runs, fenxi_report::Options::default())?;
    if args.output == Path::new("-") {
        print::data(&html)?;
        return Ok(ExitCode::SUCCESS);
    }
    // Written whole or not at all: an older report stays until the new one is complete.
    let mut part = args.output.clone().into_os_string();
    part.push(".part");
    fs::write(&part, &html)?;
    fs::rename(&part, &args.output)?;
    if !cli.quiet {
        let path = fs::canonicalize(&args.output)?;
        let size = Unit::Bytes.human(html.len() as f64);
        print::message(&format!("{} of {}: {}", size, plural(runs.len() as u64, "run"), path.display()));
    }
    Ok(ExitCode::SUCCESS)
}
