//! `fenxi-engine`: the commands that need the SQL engine; `fenxi` hands over to it.

use std::process::ExitCode;

fn main() -> ExitCode {
    fenxi_cli::engine()
}
