//! Handing a command over to the program that is linked with the SQL engine.

use std::{env, os::unix::process::CommandExt, path::PathBuf, process::Command};

use anyhow::anyhow;

/// Name of the other program.
const ENGINE: &str = "fenxi-engine";

/// Becomes `fenxi-engine` with the same arguments; comes back only when that fails, with the reason.
pub fn to_engine() -> anyhow::Error {
    let places = match places() {
        Ok(places) => places,
        Err(e) => return anyhow!("cannot tell where this program stands: {e}"),
    };
    match places.iter().find(|p| p.is_file()) {
        Some(program) => {
            let error = Command::new(program).args(env::args_os().skip(1)).exec();
            anyhow!("cannot run {}: {error}", program.display())
        }
        None => {
            let places: Vec<_> = places.iter().map(|p| p.display().to_string()).collect();
            anyhow!(
                "the SQL engine is not installed here: there is no {}; recording, `runs`, `show`, `tag`, `rm` and \
                 `verify` work without it, `make install` installs both",
                places.join(" and no ")
            )
        }
    }
}

/// Where the other program may stand: beside this one, or in `libexec` of the same prefix.
fn places() -> std::io::Result<Vec<PathBuf>> {
    let here = env::current_exe()?;
    let folder = here.parent().map(PathBuf::from).unwrap_or_default();
    Ok(vec![folder.join(ENGINE), folder.join("../libexec").join(ENGINE)])
}
