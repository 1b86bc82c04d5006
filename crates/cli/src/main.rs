//! `fenxi`: what people type.

use std::process::ExitCode;

fn main() -> ExitCode {
    fenxi_cli::fenxi()
}
