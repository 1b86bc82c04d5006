//! `fenxi store scrub`.

use std::process::ExitCode;

use clap::Args;
use fenxi_store::ScrubDone;

use super::status;
use crate::{
    options::{Global, JsonArgs, seconds},
    print,
    progress::Steps,
    stores,
};

/// `fenxi store scrub`
#[derive(Debug, Args)]
#[command(after_help = "\
Reads every file of the store and of its copies (`copies` in store.json),
repairs what is damaged from a copy that has it whole, and brings to each copy
what it lacks. The exit status is 1 where a file is whole in no copy.

With --every it does nothing when the last scrub ended less than that ago: for a
timer that runs it each day.

Examples:
  fenxi store scrub
  fenxi store scrub --every 7d")]
pub struct ScrubArgs {
    /// Only when the last scrub is older than this
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub every: Option<f64>,
    /// Form of the output
    #[command(flatten)]
    pub form: JsonArgs,
}

/// Scrubs, and prints what `fenxi store status` does.
pub fn run(global: &Global, args: &ScrubArgs) -> anyhow::Result<ExitCode> {
    let store = stores::open(global)?;
    if let (Some(every), Some(ScrubDone { at, .. })) = (args.every, store.copies_status()?.scrub) {
        let ago = stores::now().seconds_since(at);
        // One of the future is by a clock that was set back.
        if (0.0..every).contains(&ago) {
            if !global.quiet {
                print::message(&format!("the last scrub ended at {}; the next is due later", at.to_the_second()));
            }
            return Ok(ExitCode::SUCCESS);
        }
    }
    let line = Steps::new(global.quiet, "scrubbing");
    let status = store.scrub_copies(&mut |done, all| line.show("runs", done, all));
    line.clear();
    status::print(&store, &status?, &args.form)
}
