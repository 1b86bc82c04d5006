//! `fenxi-engine`: the workers that answer statements; `fenxi` starts them.

use std::process::ExitCode;

fn main() -> ExitCode {
    fenxi_engine::program()
}
