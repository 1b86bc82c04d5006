//! `fenxi --licenses`: what Fenxi is made of, and the notices that its licences ask for.

use std::{ffi::OsString, process::ExitCode};

use clap::Args;
use serde_json::json;

use crate::{options::Global, print};

/// `fenxi --licenses`
#[derive(Debug, Args)]
pub struct LicensesArgs {
    /// Print JSON Lines, one object per part, without the texts
    #[arg(long)]
    pub json: bool,
}

/// Makes the option a command where no other was named before it, as `--help` is.
pub fn as_command(words: &mut [OsString]) {
    let option =
        words.iter_mut().skip(1).take_while(|w| w.as_encoded_bytes().starts_with(b"-")).find(|w| *w == "--licenses");
    if let Some(option) = option {
        *option = "licenses".into();
    }
}

/// Prints the notices, or the list of parts.
pub fn run(_: &Global, args: &LicensesArgs) -> anyhow::Result<ExitCode> {
    if args.json {
        let lines: String = parts(fenxi_model::NOTICES).map(|part| format!("{part}\n")).collect();
        print::data(lines.as_bytes())?;
    } else {
        print::data(fenxi_model::NOTICES.as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The list's lines: `* NAME VERSION · WITHIN · LICENCE · TEXTS`; a part may have no version.
fn parts(notices: &str) -> impl Iterator<Item = serde_json::Value> {
    let list = notices.lines().take_while(|line| !line.starts_with("[1] ="));
    list.filter_map(|line| {
        let mut fields = line.strip_prefix("* ")?.split(" · ");
        let (named, within, licence) = (fields.next()?, fields.next()?, fields.next()?);
        let versioned = named.rsplit_once(' ').filter(|(_, v)| v.starts_with(|c: char| c.is_ascii_digit()));
        let (name, version) = versioned.map_or((named, None), |(name, version)| (name, Some(version)));
        Some(json!({ "name": name, "version": version, "within": within, "licence": licence }))
    })
}
