//! `fenxi store attend`: the other end of `ssh:HOST`, hidden from help.

use std::{
    io::{self, BufReader, BufWriter},
    process::ExitCode,
};

use clap::Args;
use fenxi_store::{Store, StoreError};

use crate::{options::Global, stores};

/// `fenxi store attend`
#[derive(Debug, Args)]
pub struct AttendArgs {}

/// Serves the store to the fenxi at the other end of standard input and output.
pub fn run(global: &Global, _args: &AttendArgs) -> anyhow::Result<ExitCode> {
    let open = |make: bool| {
        let opened = match make {
            true => return stores::create(global).map(Some).map_err(|e| format!("{e:#}")),
            false => stores::path(global).map_err(StoreError::from).and_then(Store::open),
        };
        match opened {
            Err(StoreError::NotAStore { .. }) => Ok(None),
            other => other.map(Some).map_err(|e| e.to_string()),
        }
    };
    let mut from = BufReader::new(io::stdin().lock());
    let mut to = BufWriter::new(io::stdout().lock());
    fenxi_carry::attend(&open, &mut from, &mut to)?;
    Ok(ExitCode::SUCCESS)
}
