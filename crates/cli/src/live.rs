//! Shared parts of all live tools: when they sample, where frames come from, where text goes.

pub mod saved;

use std::{
    collections::BTreeSet,
    ffi::OsString,
    io::{self, IsTerminal},
    ops::ControlFlow,
    process::ExitCode,
    sync::Arc,
};

use anyhow::Context;
use fenxi_live::{Csv, Frame, Json, View, replay};
use fenxi_model::{Rows, Table, catalog::note};
use fenxi_record::{Outcome, Plan, Stage};
use fenxi_source::{Source, timer_tick_ns};

use crate::{
    ending::exit_code,
    machine::hostname,
    options::{Global, LiveArgs},
    print, stores,
};

/// A live tool about to be shown.
pub struct Tool<'a> {
    /// Its usual name.
    pub name: &'a str,
    /// The sources it samples.
    pub sources: Vec<Arc<dyn Source>>,
    /// The tables that it shows; the first one is its CSV.
    pub tables: Vec<&'static Table>,
    /// How it shows them.
    pub view: Box<dyn View>,
    /// Whether it begins with averages since boot. Without an interval these are all it shows.
    pub since_boot: bool,
    /// Command to run meanwhile.
    pub command: Option<Vec<OsString>>,
}

/// Seconds between two ticks of the clock of the machine that is shown; what the kernel of a run or of a saved root ticked like is
/// not known.
pub fn tick_s(live: &LiveArgs) -> Option<f64> {
    let known = live.run.is_none() && live.machine.is_live();
    if known { timer_tick_ns().map(|ns| ns as f64 / 1e9) } else { None }
}

/// Shows frames of the system or of a run until there are no more, the count is reached, a signal or
/// the end of the command comes, or the reader has gone.
///
/// # Errors
/// When the run cannot be shown, nothing can be sampled, or the output cannot be written.
pub fn run(global: &Global, args: &LiveArgs, tool: Tool<'_>) -> anyhow::Result<ExitCode> {
    let mut screen = Screen::new(args, tool.view, &tool.tables);
    if let Some(selector) = &args.run {
        let store = stores::open(global)?;
        let run = store.select_one(selector)?;
        let mut left = args.count.unwrap_or(u64::MAX);
        let mut show = |frame: &Frame<'_>| {
            screen.show(frame)?;
            left -= u64::from(!frame.since_boot);
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        replay(&store, &run, &tool.tables, args.host.as_deref(), &mut show).with_context(|| format!("run {run}"))?;
        screen.finish()?;
        return Ok(ExitCode::SUCCESS);
    }
    // Without an interval there are the averages since boot, and nothing else.
    let once = tool.since_boot && args.interval.is_none() && tool.command.is_none();
    let interval_s = args.interval.unwrap_or(1.0);
    let root = args.machine.open()?;
    let host = hostname(&root);
    let plan = Plan {
        store: args.save.as_ref().map(|_| stores::create(global)).transpose()?,
        name: args.save.clone().unwrap_or_default(),
        tags: args.tag.iter().cloned().collect(),
        duration_s: args.count.map(|n| n as f64 * interval_s),
        command: tool.command,
        random: stores::random(),
        since_boot: tool.since_boot,
        whole: true,
        ..Plan::new(tool.sources, root, host, interval_s)
    };
    let outcome = fenxi_record::record(plan, &mut |stage| match stage {
        Stage::Began { rows, .. } => {
            screen.notes(rows);
            ControlFlow::Continue(())
        }
        Stage::SinceBoot { t, dt, rows } => {
            screen.show(&Frame { t, dt, since_boot: true, rows })?;
            if once {
                return ControlFlow::Break(());
            }
            if screen.has_begun && !global.quiet && io::stdout().is_terminal() {
                print::message("(these are averages since boot, which -y omits; reports of intervals follow)");
            }
            ControlFlow::Continue(())
        }
        Stage::Tick { t, dt, rows, .. } => screen.show(&Frame { t, dt, since_boot: false, rows }),
        Stage::Rolled { .. } | Stage::Sealing => ControlFlow::Continue(()),
    })?;
    screen.finish()?;
    Ok(ended(global, tool.name, &outcome))
}

fn ended(global: &Global, tool: &str, outcome: &Outcome) -> ExitCode {
    if let (Some(run), false) = (&outcome.run, global.quiet) {
        print::message(&format!("saved as {run}; next: fenxi {tool} --run {run}, fenxi report {run}"));
    }
    exit_code(outcome.exit_code.unwrap_or(0))
}

/// Where text goes: each frame is written at once.
struct Screen {
    view: Box<dyn View>,
    /// Form of the view's output; text is made of visible rows, so that no name breaks a line.
    form: print::Form,
    text: String,
    /// Notes that were printed already.
    reported: BTreeSet<String>,
    /// Whether anything was shown.
    has_begun: bool,
    failed: Option<anyhow::Error>,
}

impl Screen {
    /// Shows frames through `view`, or the rows of `tables` as they are if `args` say so.
    fn new(args: &LiveArgs, view: Box<dyn View>, tables: &[&'static Table]) -> Screen {
        let (view, form): (Box<dyn View>, _) = match tables.first() {
            Some(_) if args.is_json() => (Box::new(Json::new(tables)), print::Form::Json),
            Some(first) if args.is_csv() => (Box::new(Csv::new(first)), print::Form::Data),
            _ => (view, print::Form::Text),
        };
        Screen { view, form, text: String::new(), reported: BTreeSet::new(), has_begun: false, failed: None }
    }

    fn show(&mut self, frame: &Frame<'_>) -> ControlFlow<()> {
        self.notes(frame.rows);
        match frame.rows.made_visible().filter(|_| self.form == print::Form::Text) {
            Some(rows) => self.view.frame(&Frame { rows: &rows, ..*frame }, &mut self.text),
            None => self.view.frame(frame, &mut self.text),
        }
        self.write()
    }

    fn write(&mut self) -> ControlFlow<()> {
        self.has_begun |= !self.text.is_empty();
        let written = print::put(self.form, self.text.as_bytes());
        self.text.clear();
        match written {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.failed.get_or_insert(error);
                ControlFlow::Break(())
            }
        }
    }

    /// Prints on stderr what could not be read, each thing once.
    fn notes(&mut self, rows: &Rows) {
        if let Some(notes) = rows.of(&note::TABLE) {
            for row in 0..notes.n_rows() {
                let source = notes.str(row, note::source).unwrap_or("");
                let message = format!("{source}: {}", notes.str(row, note::message).unwrap_or(""));
                if self.reported.len() < 100 && self.reported.insert(message.clone()) {
                    print::message(&message);
                }
            }
        }
    }

    fn finish(&mut self) -> anyhow::Result<()> {
        if self.failed.is_none() {
            self.view.end(&mut self.text);
            let _ = self.write();
        }
        match self.failed.take() {
            None => Ok(()),
            Some(error) => Err(error),
        }
    }
}
