//! `fenxi watch db-top`.

use std::{
    collections::BTreeSet,
    io::{self, IsTerminal},
    ops::ControlFlow,
    process::ExitCode,
    sync::mpsc::{Receiver, Sender, TryRecvError, channel},
    thread,
    time::Duration,
};

use anyhow::{anyhow, bail};
use clap::Args;
use fenxi_db::{Databases, Rate, TABLES};
use fenxi_live::{
    Frame, replay,
    top::{Event, Flow, Screen, Top},
};
use fenxi_model::{Micros, Rows, catalog::note};
use fenxi_record::{Plan, Stage};
use fenxi_source::Root;
use fenxi_sys::signal::{Signal, Signals};

use crate::{
    machine::hostname,
    options::{
        Global,
        database::{server, server_or_only},
    },
    print, stores,
};

/// How long keys are waited for before it is looked for new rows.
const PATIENCE: Duration = Duration::from_millis(100);

/// `fenxi watch db-top`
#[derive(Debug, Args)]
#[command(after_help = "\
Above: figures of the last second as `fenxi watch db` has them, and active
sessions of the last two minutes by what they wait for. Below: one of the panes
sessions (blocked ones below their blockers), statements, waits, locks,
relations, I/O and progress. It changes nothing: no key ends a session.

Keys: 1-7 or Tab pane, s sort by the next column, / filter, Esc no filter,
Space pause, arrows left and right a moment back and on (Page: a minute; Home
and End), arrows up and down scroll, q or Ctrl-C leave.

Examples:
  fenxi watch db-top               the server of this host
  fenxi watch db-top postgres://mon@db1/shop
  fenxi watch db-top --run before  step through a recorded run")]
pub struct TopArgs {
    /// Database server; with --run the one to show [default: the only one]
    #[arg(value_name = "URL")]
    pub url: Option<String>,
    /// Step through a recorded run instead
    #[arg(long, value_name = "RUN")]
    pub run: Option<String>,
    /// Host to show, of a run with several
    #[arg(long, value_name = "NAME", requires = "run")]
    pub host: Option<String>,
    /// Samples of sessions per second, 1 to 100
    #[arg(long = "db-rate", value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub samples_per_s: u32,
}

/// The rows of a tick.
struct Tick {
    t: Micros,
    dt: f64,
    rows: Rows,
}

/// Shows it until the user leaves.
pub fn run(global: &Global, args: &TopArgs) -> anyhow::Result<ExitCode> {
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        bail!("`fenxi watch db-top` needs a terminal; `fenxi watch db` prints lines");
    }
    match &args.run {
        Some(selector) => step_through(global, args, selector),
        None => watch(args),
    }
}

fn step_through(global: &Global, args: &TopArgs, selector: &str) -> anyhow::Result<ExitCode> {
    let store = stores::open(global)?;
    let run = store.select_one(selector)?;
    let only = args.url.as_deref().map(server).transpose()?.map(|server| server.name().to_owned());
    let mut top = Top::new(only, true);
    top.has_colour = print::may_colour();
    let mut take = |frame: &Frame<'_>| {
        if !frame.since_boot {
            top.history.take(frame);
        }
        ControlFlow::Continue(())
    };
    replay(&store, &run, TABLES, args.host.as_deref(), &mut take)?;
    if top.history.moments.is_empty() {
        bail!("run {run} has no rows of a database server");
    }
    let (_keep, ticks) = channel();
    show(top, &ticks)?;
    Ok(ExitCode::SUCCESS)
}

/// The screen has its own thread, so that keys do not wait for the next tick.
fn watch(args: &TopArgs) -> anyhow::Result<ExitCode> {
    let server = server_or_only(args.url.as_deref())?;
    let mut top = Top::new(Some(server.name().to_owned()), false);
    top.has_colour = print::may_colour();
    let source = Databases::source(vec![server], Rate { samples_per_s: args.samples_per_s, poll_s: 1.0 });
    let root = Root::live();
    let host = hostname(&root);
    let (sender, ticks) = channel();
    let (began, has_begun) = channel::<()>();
    let screen = thread::Builder::new().name("screen".to_owned()).spawn(move || {
        // They are the recorder's: taken here, they would end the program without giving the terminal back.
        Signals::of([Signal::INT, Signal::TERM, Signal::HUP]).block()?;
        // The terminal stays as it is when nothing can be observed.
        if has_begun.recv().is_err() { Ok(()) } else { show(top, &ticks) }
    })?;
    let mut notes = BTreeSet::new();
    let plan = Plan::new(vec![source], root, host, 1.0);
    let outcome = fenxi_record::record(plan, &mut |stage| match stage {
        Stage::Tick { t, dt, rows, .. } => {
            remember(rows, &mut notes);
            send(&sender, t, dt, rows)
        }
        Stage::Began { rows, .. } => {
            remember(rows, &mut notes);
            if began.send(()).is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        }
        _ => ControlFlow::Continue(()),
    });
    drop((sender, began));
    let shown = screen.join().map_err(|_| anyhow!("the screen failed unexpectedly; please report this"))?;
    for message in &notes {
        print::message(message);
    }
    outcome?;
    shown?;
    Ok(ExitCode::SUCCESS)
}

/// Hands rows to the screen; when it is gone, nothing is observed any more.
fn send(screen: &Sender<Tick>, t: Micros, dt: f64, rows: &Rows) -> ControlFlow<()> {
    let mut own = Rows::new("");
    own.append(rows, Micros(0));
    match screen.send(Tick { t, dt, rows: own }) {
        Ok(()) => ControlFlow::Continue(()),
        Err(_) => ControlFlow::Break(()),
    }
}

/// Keeps what could not be read, to be reported when the terminal is given back.
fn remember(rows: &Rows, notes: &mut BTreeSet<String>) {
    let Some(found) = rows.of(&note::TABLE) else { return };
    for row in 0..found.n_rows() {
        if notes.len() < 100 {
            notes.insert(found.str(row, note::message).unwrap_or_default().to_owned());
        }
    }
}

/// Draws what comes and obeys keys, until the user leaves or nothing can come any more.
fn show(mut top: Top, ticks: &Receiver<Tick>) -> io::Result<()> {
    let mut screen = Screen::open()?;
    screen.draw(&top)?;
    loop {
        let mut is_new = false;
        loop {
            match ticks.try_recv() {
                Ok(Tick { t, dt, rows }) => {
                    top.history.take(&Frame { t, dt, since_boot: false, rows: &rows });
                    is_new = true;
                }
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return Ok(()),
            }
        }
        let flow = match screen.wait(PATIENCE)? {
            Some(Event::Key(key)) => top.key(key),
            Some(Event::Interrupt) => Flow::Over,
            Some(Event::Redraw) => Flow::On,
            None if is_new => Flow::On,
            None => continue,
        };
        if flow == Flow::Over {
            return Ok(());
        }
        screen.draw(&top)?;
    }
}
