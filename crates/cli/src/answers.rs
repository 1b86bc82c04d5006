//! Answering in SQL: an engine that Ctrl-C interrupts, and answers in each format.

use std::{
    io::{self, IsTerminal},
    path::Path,
    process::ExitCode,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use anyhow::bail;
use fenxi_api::Context;
use fenxi_compare::CompareError;
use fenxi_model::RunId;
use fenxi_query::{AnswerColumn, Engine, Options, QueryError, Scope, Value, render};
use fenxi_store::{Store, StoreError};
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
/// Questions not asked yet when `stop` is asked for are left to the first look.
pub fn prepare(store: &Store, run: &RunId, quiet: bool, stop: &Stop) {
    if !fenxi_api::is_large(store, run) {
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
        fenxi_api::prepare(&Context { store, engine: &engine, read_only: true }, run, &mut |i, n| {
            steps.show("", i, n);
            !stop.asked()
        });
        is_done.store(true, Ordering::Relaxed);
    });
    steps.clear();
}

/// Memory for the process that answers when the engine is limited to `mib`: functions take some besides.
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

/// A statement to be answered.
pub enum Statement<'a> {
    /// One in the SQL of questions, with values of its parameters.
    Question(&'a str, &'a [(&'a str, Value)]),
    /// One in the engine's own SQL.
    Own(&'a str),
}

/// Asks of the runs that `selectors` name. A damaged run is left out with a warning where there are others: nothing of it is believed,
/// and a store of many is not blind for it. With the answer comes whether it is of all of them.
pub fn undamaged<T>(
    store: &Store,
    selectors: &[String],
    mut ask: impl FnMut(&[String]) -> anyhow::Result<T>,
) -> anyhow::Result<(T, bool)> {
    let (mut selectors, mut is_whole) = (selectors.to_vec(), true);
    loop {
        let error = match ask(&selectors) {
            Ok(answer) => return Ok((answer, is_whole)),
            Err(error) => error,
        };
        let Some(others) = others(store, &scope(store, &selectors)?, &error)? else { return Err(error) };
        selectors = others.iter().map(ToString::to_string).collect();
        is_whole = false;
    }
}

/// Answers `statement` on stdout, batch by batch where the format allows it, without damaged runs as [`undamaged`]. Programs see
/// by the exit code that it is not the whole answer.
pub fn answer(engine: &Engine, statement: &Statement<'_>, scope: &Scope, format: Format) -> anyhow::Result<ExitCode> {
    if format == Format::Parquet && io::stdout().is_terminal() {
        bail!("Parquet is binary; redirect it to a file: … -f parquet -o answer.parquet");
    }
    let mut scope = scope.clone();
    let mut code = ExitCode::SUCCESS;
    loop {
        // Files are checked before the first row is written, so that nothing is there when this is asked once more.
        let error = match answer_once(engine, statement, &scope, format) {
            Ok(()) => return Ok(code),
            Err(error) => error.into(),
        };
        let Some(others) = others(engine.store(), &scope, &error)? else { return Err(error) };
        scope.runs = Some(others);
        code = ExitCode::FAILURE;
    }
}

fn answer_once(engine: &Engine, statement: &Statement<'_>, scope: &Scope, format: Format) -> Result<(), QueryError> {
    let style = render::Style { width: print::width(&io::stdout()) };
    let mut writer = render::Writer::new(renderer(format), style, print::Paged::new(form(format)));
    let mut take = |columns: &[AnswerColumn], batch| writer.batch(columns, &batch);
    let (columns, schema) = match statement {
        Statement::Question(sql, params) => engine.each(sql, params, scope, &mut take)?,
        Statement::Own(sql) => engine.each_own(sql, scope, &mut take)?,
    };
    writer.finish(&columns, &schema)
}

/// The damaged file that an error is about, and what is wrong with it.
pub fn damage(error: &anyhow::Error) -> Option<(&Path, &str)> {
    fn of_query(error: &QueryError) -> Option<&StoreError> {
        match error {
            QueryError::Store(error) => Some(error),
            QueryError::Finding { source, .. } => of_query(source),
            _ => None,
        }
    }
    fn of_compare(error: &CompareError) -> Option<&StoreError> {
        match error {
            CompareError::Store(error) => Some(error),
            CompareError::Query(error) => of_query(error),
            _ => None,
        }
    }
    let of_any = error.downcast_ref::<QueryError>().and_then(of_query);
    let of_any = of_any.or_else(|| error.downcast_ref::<CompareError>().and_then(of_compare));
    match error.downcast_ref::<StoreError>().or(of_any)? {
        StoreError::Damaged { path, why } => Some((path, why)),
        _ => None,
    }
}

/// The runs of `scope` without the one that `error` calls damaged, which a warning names; None where it is about something else, or
/// there is no other run.
fn others(store: &Store, scope: &Scope, error: &anyhow::Error) -> anyhow::Result<Option<Vec<RunId>>> {
    let Some((path, why)) = damage(error) else { return Ok(None) };
    let mut all = match &scope.runs {
        Some(runs) => runs.clone(),
        None => store.summaries()?.into_iter().map(|summary| summary.id).collect(),
    };
    let before = all.len();
    all.retain(|run| !path.starts_with(store.run_dir(run)));
    if all.is_empty() || all.len() == before {
        return Ok(None);
    }
    print::message(&format!("warning: a run is left out: {} is damaged: {why}", path.display()));
    Ok(Some(all))
}

/// Handling of hidden characters in a format.
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
