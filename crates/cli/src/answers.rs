//! Answering in SQL: an engine that Ctrl-C interrupts, and answers in each format.

use std::{
    io::{self, IsTerminal},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use anyhow::bail;
use fenxi_model::RunId;
use fenxi_query::{AnswerColumn, Engine, Options, Scope, Value, render};
use fenxi_report::api::Context;
use fenxi_store::Store;
use fenxi_sys::signal::{Signal, Signals};

use crate::{
    options::{AnswerArgs, Format},
    print,
    progress::Steps,
    stop::Stop,
};

/// Between two attempts to interrupt.
const AGAIN: Duration = Duration::from_millis(10);

/// The runs that selectors name; all when there are none.
pub fn scope(store: &Store, selectors: &[String]) -> anyhow::Result<Scope> {
    Ok(if selectors.is_empty() { Scope::all() } else { Scope::of(store.select_all(selectors)?) })
}

/// An engine on `store` that Ctrl-C interrupts.
pub fn engine(store: &Store, args: &AnswerArgs) -> anyhow::Result<Engine> {
    let options = Options {
        memory_limit: Some(format!("{}MiB", args.memory.max(64))),
        process_bytes: Some(process_bytes(args.memory)),
        threads: args.threads,
        ..args.engine.options()
    };
    let engine = Engine::open(store, &options)?;
    interrupt_on_signal(&engine)?;
    Ok(engine)
}

/// Asks what the page of a large run shows first, so that it is there when somebody looks; where no statement can be answered, nothing.
/// What is not asked yet when `stop` is asked for is left to the first look.
pub fn prepare(store: &Store, run: &RunId, quiet: bool, stop: &Stop) {
    if !fenxi_report::is_large(store, run) {
        return;
    }
    let options = Options { time_parts: Some(fenxi_compare::time_parts), ..Options::default() };
    let Ok(engine) = Engine::on_demand(store, &options) else { return };
    let steps = Steps::new(quiet, "asking what its page shows (Ctrl-C: later)");
    let (interrupt, is_done) = (engine.interrupt(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                if stop.asked() {
                    interrupt.interrupt();
                }
                std::thread::sleep(AGAIN);
            }
        });
        fenxi_report::prepare(&Context { store, engine: &engine, read_only: true }, run, &mut |i, n| {
            steps.show("", i, n);
            !stop.asked()
        });
        is_done.store(true, Ordering::Relaxed);
    });
    steps.clear();
}

/// What the process that answers may take when the engine is told to keep to `mib`: functions take some besides.
fn process_bytes(mib: u64) -> u64 {
    (mib.max(64) + mib / 4 + 256) << 20
}

/// Lets SIGINT and SIGTERM end the query in flight: a thread waits for them, all others ignore them.
fn interrupt_on_signal(engine: &Engine) -> anyhow::Result<()> {
    let signals = Signals::of([Signal::INT, Signal::TERM]);
    signals.block()?;
    let interrupt = engine.interrupt();
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        // A second signal ends the process at once, should the engine not listen.
        if signals.wait().is_ok() {
            let _ = signals.unblock();
            // Between two statements there is nothing to interrupt: until the process has ended.
            loop {
                interrupt.interrupt();
                std::thread::sleep(AGAIN);
            }
        }
    })?;
    Ok(())
}

/// What is answered.
pub enum Statement<'a> {
    /// One in the SQL of questions, with values of its parameters.
    Question(&'a str, &'a [(&'a str, Value)]),
    /// One in the engine's own SQL.
    Own(&'a str),
}

/// Answers `statement` on stdout, batch by batch where the format allows it.
pub fn answer(engine: &Engine, statement: &Statement<'_>, scope: &Scope, format: Format) -> anyhow::Result<()> {
    let stdout = io::stdout();
    if format == Format::Parquet && stdout.is_terminal() {
        bail!("Parquet is binary; redirect it to a file: … -f parquet -o answer.parquet");
    }
    let style = render::Style { width: print::width(&stdout) };
    let mut writer = render::Writer::new(renderer(format), style, print::Stdout::new(form(format)));
    let mut take = |columns: &[AnswerColumn], batch| writer.batch(columns, &batch);
    let (columns, schema) = match statement {
        Statement::Question(sql, params) => engine.each(sql, params, scope, &mut take)?,
        Statement::Own(sql) => engine.each_own(sql, scope, &mut take)?,
    };
    writer.finish(&columns, &schema)?;
    Ok(())
}

/// What a format may hold of hidden characters.
fn form(format: Format) -> print::Form {
    match format {
        Format::Table | Format::Markdown => print::Form::Text,
        Format::Json => print::Form::Json,
        Format::Csv | Format::Parquet => print::Form::Data,
    }
}

fn renderer(format: Format) -> render::Format {
    match format {
        Format::Table => render::Format::Table,
        Format::Csv => render::Format::Csv,
        Format::Json => render::Format::Json,
        Format::Parquet => render::Format::Parquet,
        Format::Markdown => render::Format::Markdown,
    }
}
