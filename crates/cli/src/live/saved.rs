//! Saved outputs of other tools, shown by a live tool: the importers read them, and nothing is kept.

use std::{ops::ControlFlow, path::Path, process::ExitCode};

use anyhow::{Context, bail};
use fenxi_formats::{Format, Head, Hints, Input, Out, detect};
use fenxi_ingest::{UnpackBudget, collect};
use fenxi_live::{Frame, Moments, View};
use fenxi_model::{Rows, Table};
use jiff::tz::TimeZone;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::FileType,
};

use super::Screen;
use crate::{options::LiveArgs, print};

/// A tool that shows what others have printed.
pub struct Saved {
    /// Its usual name.
    pub name: &'static str,
    /// The tables that it shows; the first one is what a text must have, and its CSV.
    pub tables: Vec<&'static Table>,
    /// How it shows them.
    pub view: Box<dyn View>,
}

/// Shows what `path` holds (`-` is standard input), compressed or not, moment by moment.
///
/// # Errors
/// When it cannot be read, or is no output that has rows for the tool.
pub fn run(args: &LiveArgs, path: &Path, tool: Saved) -> anyhow::Result<ExitCode> {
    let mut screen = Screen::new(args, tool.view, &tool.tables);
    let mut budget = UnpackBudget::until(&|| false);
    for source in collect(path, &mut budget).with_context(|| format!("cannot read {}", path.display()))? {
        let reader = source.content.unpacked().with_context(|| format!("cannot read {}", source.name))?;
        let hints = Hints {
            default_host: source.host.unwrap_or_else(|| "unknown".to_owned()),
            interval_s: args.interval,
            zone: TimeZone::system(),
            ..Hints::none(&source.name)
        };
        let mut input = Input::new(reader);
        let format = recognised(&input, &source.name, tool.name, tool.tables[0])?;
        let flow = show(&mut input, format, hints, &tool.tables, args.count, &mut screen);
        if let Some(error) = input.error() {
            print::message(&format!("{}: reading ended early: {error}", source.name));
        }
        if flow.is_break() {
            break;
        }
    }
    screen.finish()?;
    Ok(ExitCode::SUCCESS)
}

fn recognised(input: &Input<'_>, name: &str, tool: &str, wanted: &Table) -> anyhow::Result<&'static Format> {
    let head = input.head();
    match detect(&Head { text: &head }) {
        Some(format) if format.tables().iter().any(|t| t.id == wanted.id) => Ok(format),
        Some(format) => bail!("{name} is output of {}, which has no data for `fenxi {tool}`", format.name),
        None => bail!("the format of {name} is unknown; `fenxi list formats` lists the known ones"),
    }
}

fn show(
    input: &mut Input<'_>,
    format: &'static Format,
    hints: Hints,
    tables: &[&'static Table],
    count: Option<u64>,
    screen: &mut Screen,
) -> ControlFlow<()> {
    let mut moments = Moments::new(tables);
    let mut left = count.unwrap_or(u64::MAX);
    let mut flow = ControlFlow::Continue(());
    let mut frame = |frame: &Frame<'_>| {
        screen.show(frame)?;
        left -= u64::from(!frame.since_boot);
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let mut out = Out::new(format.name, hints, |rows: &mut Rows, since_boot| {
        // An importer reads to the end; what has no reader any more is dropped.
        if flow.is_continue() {
            flow = moments.take(rows, since_boot, &mut frame);
        }
        rows.clear();
    })
    .in_order();
    (format.read)(input, &mut out);
    drop(out.finish());
    if flow.is_continue() {
        let rest = moments.end(&mut |last| frame(last));
        screen.notes(&rest);
    }
    flow
}

/// Whether standard input is a file or a pipe that holds something: a saved output, as it seems.
///
/// An empty one is none: programs are often started with a pipe without a writer. Waits for the
/// first byte of a pipe, and prints with `hint` what it waits for when that takes long.
///
/// # Errors
/// When standard input cannot be waited for.
pub fn on_standard_input(hint: &str) -> anyhow::Result<bool> {
    let stdin = std::io::stdin();
    let Ok(stat) = rustix::fs::fstat(&stdin) else { return Ok(false) };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => return Ok(stat.st_size > 0),
        FileType::Fifo => {}
        _ => return Ok(false),
    }
    let mut waited = [PollFd::new(&stdin, PollFlags::IN)];
    let soon = Timespec { tv_sec: 1, tv_nsec: 0 };
    if poll(&mut waited, Some(&soon)).context("cannot wait for standard input")? == 0 {
        print::message(hint);
        poll(&mut waited, None).context("cannot wait for standard input")?;
    }
    // Readable without a byte is the end.
    Ok(rustix::io::ioctl_fionread(&stdin).is_ok_and(|bytes| bytes > 0))
}
