//! `fenxi completions`.

use std::process::ExitCode;

use clap::Args;
use clap_complete::{Shell, generate};

use crate::{options::Global, overview, print};

/// `fenxi completions`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  source <(fenxi completions bash)
  fenxi completions zsh > ~/.zfunc/_fenxi
  fenxi completions fish > ~/.config/fish/completions/fenxi.fish")]
pub struct CompletionsArgs {
    /// Shell
    pub shell: Shell,
}

/// Writes a shell's completions to standard output.
pub fn run(_: &Global, args: &CompletionsArgs) -> anyhow::Result<ExitCode> {
    let mut text = Vec::new();
    generate(args.shell, &mut overview::built(), "fenxi", &mut text);
    print::data(&text)?;
    Ok(ExitCode::SUCCESS)
}
