//! Path of the engine program of the workers.

use std::{env, path::PathBuf};

use fenxi_worker::{Start, Workers};

use crate::QueryError;

/// Its name.
const PROGRAM: &str = "fenxi-engine";
/// Its argument.
const ARGUMENT: &str = "--template";

/// Starts workers that spill below `scratch`.
///
/// # Errors
/// When the program is not there or does not start.
pub fn start(scratch: Option<PathBuf>) -> Result<Workers, QueryError> {
    Ok(Workers::start(template(scratch)?)?)
}

/// Workers that spill below `scratch`, started with the first statement.
///
/// # Errors
/// When the program is not there.
pub(crate) fn on_demand(scratch: Option<PathBuf>) -> Result<Workers, QueryError> {
    Ok(Workers::on_demand(template(scratch)?)?)
}

fn template(scratch: Option<PathBuf>) -> Result<Start, QueryError> {
    Ok(Start { program: find()?, arguments: vec![ARGUMENT.into()], scratch })
}

/// Beside this program (as built), in `libexec` of the same prefix (as installed), or in the folder above, where a
/// test's program finds it.
fn find() -> Result<PathBuf, QueryError> {
    let here = env::current_exe()?;
    let folder = here.parent().map(PathBuf::from).unwrap_or_default();
    let places = [folder.join(PROGRAM), folder.join("../libexec").join(PROGRAM), folder.join("..").join(PROGRAM)];
    match places.iter().find(|place| place.is_file()) {
        Some(place) => Ok(place.clone()),
        None => Err(QueryError::NotInstalled(format!(
            "there is no {} and no {}; recording, `runs`, `show`, `tag`, `rm` and `verify` \
             work without it, `make install` installs both",
            places[0].display(),
            places[1].display()
        ))),
    }
}
