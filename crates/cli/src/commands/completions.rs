//! `fenxi completions`.

use std::process::ExitCode;

use clap::Args;
use clap_complete::{Shell, generate};

use crate::{options::Global, overview, print};

/// `fenxi completions`
#[derive(Debug, Args)]
#[command(after_help = "\
The scripts for bash, zsh and fish ask fenxi itself, so that names of runs,
tags, questions, tables, metrics, sources and formats are completed too.

Examples:
  source <(fenxi completions bash)
  fenxi completions zsh > ~/.zfunc/_fenxi
  fenxi completions fish > ~/.config/fish/completions/fenxi.fish")]
pub struct CompletionsArgs {
    /// Shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// Bash takes words apart at `=` and `:` too: the line is given whole, and what bash has already is taken away.
const BASH: &str = r#"_fenxi() {
    local cur=${COMP_WORDS[COMP_CWORD]} line=${COMP_LINE:0:COMP_POINT} word
    local last=${line##* }
    case $cur in "=" | ":") cur= ;; esac
    local known=${last%"$cur"}
    COMPREPLY=()
    while IFS=$'\t' read -r word _; do
        COMPREPLY+=("${word#"$known"}")
    done < <(fenxi complete --line -- "$line" 2>/dev/null)
}
complete -o bashdefault -o default -F _fenxi fenxi
"#;

const ZSH: &str = r#"#compdef fenxi
_fenxi() {
    local -a found
    local line word
    for line in "${(@f)$(fenxi complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
        [[ -n $line ]] || continue
        word=${line%%$'\t'*}
        found+=("${word//:/\\:}:${line#*$'\t'}")
    done
    if (( $#found )); then
        _describe -V fenxi found
    else
        _files
    fi
}
if [[ $funcstack[1] == _fenxi ]]; then
    _fenxi "$@"
else
    compdef _fenxi fenxi
fi
"#;

const FISH: &str = r#"function __fenxi_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l found (fenxi complete -- $words[2..-1] 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c fenxi -f -a '(__fenxi_complete)'
"#;

/// Writes a shell's completions to standard output.
pub fn run(_: &Global, args: &CompletionsArgs) -> anyhow::Result<ExitCode> {
    let script = match args.shell {
        Shell::Bash => BASH,
        Shell::Zsh => ZSH,
        Shell::Fish => FISH,
        // Names of commands and options only.
        shell => {
            let mut text = Vec::new();
            generate(shell, &mut overview::built(), "fenxi", &mut text);
            print::data(&text)?;
            return Ok(ExitCode::SUCCESS);
        }
    };
    print::data(script.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}
