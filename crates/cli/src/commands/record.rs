//! `fenxi record`.

use std::{collections::BTreeMap, ops::ControlFlow, path::Path, process::ExitCode, sync::Arc};

use anyhow::bail;
use fenxi_model::{RunId, Unit};
use fenxi_record::{Outcome, Plan, RecordError};
use fenxi_source::{Root, Source};

use crate::{
    args::{Cli, RecordArgs},
    print,
    progress::{Line, plural},
    stores,
};

/// Records, says what was kept, and exits with the command's status.
pub fn run(cli: &Cli, args: &RecordArgs) -> anyhow::Result<ExitCode> {
    let sources = choose(&args.source)?;
    let root = root(args.root.as_deref())?;
    let store = stores::create(cli)?;
    let host = hostname(&root);
    let plan = Plan {
        store: Some(store),
        name: args.name.clone().unwrap_or_else(|| default_name(args, &host)),
        host,
        tags: args.tag.iter().cloned().collect(),
        params: BTreeMap::new(),
        interval_s: args.interval,
        duration_s: args.duration,
        sources,
        root,
        command: (!args.command.is_empty()).then(|| args.command.clone()),
        contained: None,
        random: stores::random(),
        since_boot: false,
        whole: false,
    };
    let line = Line::new(cli.quiet, !args.command.is_empty(), args.duration);
    let outcome = fenxi_record::record(plan, &mut |stage| {
        line.show(&stage);
        ControlFlow::Continue(())
    });
    line.clear();
    match outcome {
        Ok(outcome) => {
            if !cli.quiet {
                print::messages(&describe(&outcome));
            }
            Ok(exit_code(outcome.exit_code.unwrap_or(0)))
        }
        Err(RecordError::Command { source, command }) => {
            print::error(&RecordError::Command { source, command }.into());
            // As a shell does for a command that cannot be run.
            Ok(ExitCode::from(127))
        }
        Err(error) => Err(error.into()),
    }
}

/// The live system, or the saved copy below `path`.
pub fn root(path: Option<&Path>) -> anyhow::Result<Root> {
    match path {
        Some(path) if !path.join("proc").is_dir() => {
            bail!("{} has no `proc`: --root needs a saved copy of /proc and /sys", path.display())
        }
        Some(path) => Ok(Root::saved(path)),
        None => Ok(Root::live()),
    }
}

/// The exit code that says what a command's status was.
pub fn exit_code(status: i32) -> ExitCode {
    ExitCode::from(u8::try_from(status).unwrap_or(1))
}

fn describe(outcome: &Outcome) -> String {
    let progress = &outcome.progress;
    let run = outcome.run.as_ref().map_or("nothing", RunId::as_str);
    let mut text = format!(
        "recorded {run}: {} in {}, recorder used {} of CPU time",
        plural(progress.ticks, "sample"),
        Unit::Seconds.human(progress.elapsed_s),
        Unit::Seconds.human(outcome.cpu_s),
    );
    if progress.missed > 0 {
        text.push_str(&format!(", {} missed", plural(progress.missed, "tick")));
    }
    if let Some(code) = outcome.exit_code.filter(|code| *code != 0) {
        text.push_str(&format!("; the command ended with status {code}"));
    }
    text.push_str("\nnext: fenxi show @1, fenxi ask, fenxi report @1");
    text
}

/// The command's own name, or the host's when there is no command.
fn default_name(args: &RecordArgs, host: &str) -> String {
    let program = args.command.first().and_then(|c| Path::new(c).file_name());
    program.map_or_else(|| host.to_owned(), |name| name.to_string_lossy().into_owned())
}

/// The name of the host at `root`.
pub fn hostname(root: &Root) -> String {
    if root.is_live() {
        return rustix::system::uname().nodename().to_string_lossy().into_owned();
    }
    root.read_text("/proc/sys/kernel/hostname").unwrap_or_else(|| "saved".to_owned())
}

/// The sources that the list names: all named ones, or the default ones with `+more` and `-less`.
pub fn choose(list: &[String]) -> anyhow::Result<Vec<Arc<dyn Source>>> {
    fenxi_record::choose(list).map_err(anyhow::Error::msg)
}
