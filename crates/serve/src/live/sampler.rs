//! Samplers of this machine: one for all listeners of the same sources, which begins with the first and ends after the last.
//!
//! Values of the page of this machine are kept for some minutes, for who comes later, and for as long sampled on.

use std::{collections::BTreeSet, ops::ControlFlow, sync::Arc};

use axum::{http::StatusCode, response::sse::Event};
use fenxi_model::{
    Rows,
    catalog::{note, process},
};
use fenxi_record::{Plan, Stage};
use fenxi_source::{Root, Source, Take};
use futures_util::{Stream, StreamExt};
use serde_json::json;
use tokio_stream::wrappers::BroadcastStream;

use super::{
    databases::{self, Databases},
    samplers::{Key, Sampler, Told},
    values::{self, Tick},
};
use crate::{reply::Failure, shared::Shared};

/// Seconds between two samples.
const INTERVAL_S: f64 = 1.0;
/// Samplers at the same time.
const MOST: usize = 8;
/// Ticks of this machine: of one source, or of those that are live, then those of the past first: `recorded` ones, and those that
/// were sampled here.
pub(super) fn ticks(
    shared: &Shared,
    source: Option<&str>,
    recorded: Vec<Tick>,
) -> Result<impl Stream<Item = Event> + use<>, Failure> {
    let key = source.map(|name| key_of(shared, name)).transpose()?;
    let mut samplers = shared.samplers.lock();
    if samplers.len() >= MOST && !samplers.contains_key(&key) {
        return Err(Failure::new(StatusCode::SERVICE_UNAVAILABLE, "too many sources are watched; try again soon"));
    }
    let sampler = samplers.entry(key).or_insert_with(|| {
        let shared = shared.clone();
        std::thread::spawn(move || sample(&shared, key));
        Sampler::new()
    });
    let first_ms = sampler.past.front().map_or(f64::INFINITY, |(t_ms, _)| *t_ms);
    let recorded = recorded.into_iter().filter(|tick| tick.t_ms < first_ms).map(|tick| tick.text().into());
    let past: Vec<Told> =
        recorded.chain(sampler.past.iter().map(|(_, text)| Arc::clone(text))).map(|text| ("tick", text)).collect();
    // Who was too slow goes on with what is next.
    let told = BroadcastStream::new(sampler.sender.subscribe()).filter_map(|told| async { told.ok() });
    Ok(futures_util::stream::iter(past).chain(told).map(|(name, data)| Event::default().event(name).data(&*data)))
}

/// Tables that are live unless another source is asked for.
pub(super) fn live_tables() -> BTreeSet<&'static str> {
    let live = fenxi_record::sources().filter(|source| source.spec().live);
    live.flat_map(|source| source.spec().tables.iter().map(|table| table.name)).collect()
}

/// Name of the source to sample when a source of this name is asked for, if it may be.
fn key_of(shared: &Shared, name: &str) -> Result<&'static str, Failure> {
    match &shared.settings.databases {
        Some(databases) if databases.spec().name == name => Ok(databases.spec().name),
        None if name == fenxi_db::SOURCE_NAME => Err(Failure::new(
            StatusCode::FORBIDDEN,
            "this server watches no database: name them when it is started (`fenxi serve --db URL`)",
        )),
        _ => Ok(named(shared, name)?.spec().name),
    }
}

/// The source of this name, if it may be watched here.
fn named(shared: &Shared, name: &str) -> Result<&'static dyn Source, Failure> {
    let source = fenxi_record::source(name).ok_or_else(|| Failure::unknown(format!("no source is called `{name}`")))?;
    may_be_watched(shared, source)
        .map_err(|why| Failure::new(StatusCode::FORBIDDEN, format!("`{}` {why}", source.spec().name)))?;
    Ok(source)
}

/// Whether a source has values at every tick, and this server lets people ask for it; else why not.
pub(super) fn may_be_watched(shared: &Shared, source: &dyn Source) -> Result<(), &'static str> {
    if source.spec().take == Take::StartAndEnd {
        return Err("is read only at the start and the end of a recording");
    }
    if shared.settings.read_only && fenxi_record::is_observer(source) {
        return Err("puts programs into the kernel, which a read-only server does not do");
    }
    Ok(())
}

/// Samples until no listener is left.
fn sample(shared: &Shared, key: Key) {
    let wanted = |source: &&'static dyn Source| {
        let spec = source.spec();
        // The number of CPUs is shown beside the activity of databases.
        let beside = key == Some(fenxi_db::SOURCE_NAME) && spec.name == "sched";
        key.map_or(spec.live || spec.name == process::TABLE.name, |name| spec.name == name || beside)
    };
    let mut sources: Vec<_> =
        fenxi_record::sources().filter(wanted).map(|source| Arc::new(source) as Arc<dyn Source>).collect();
    let named = shared.settings.databases.as_ref().filter(|databases| key == Some(databases.spec().name));
    sources.extend(named.cloned());
    let mut seen = Databases::default();
    let tables = live_tables();
    let plan = Plan::new(sources, Root::live(), shared.settings.host.clone(), INTERVAL_S);
    let outcome = fenxi_record::record(plan, &mut |stage| {
        if let (Stage::Began { rows, .. }, Some(name)) = (&stage, key)
            && let Some(why) = refused(rows, name)
        {
            fail(shared, key, &why);
            return ControlFlow::Break(());
        }
        let Stage::Tick { t, rows, .. } = stage else { return ControlFlow::Continue(()) };
        let mut tick = values::of_rows(t, rows);
        if key.is_none() {
            tick.keep(&tables);
        }
        let mut samplers = shared.samplers.lock();
        let is_ending = shared.stop.is_cancelled();
        let wanted = samplers.get_mut(&key).and_then(|s| (!is_ending && s.is_wanted(key)).then_some(s));
        let Some(sampler) = wanted else {
            // Under the lock: who listens from now on begins a sampler anew.
            samplers.remove(&key);
            return ControlFlow::Break(());
        };
        sampler.tell(&tick, key);
        if let Some(text) = seen.take(t, rows) {
            let _ = sampler.sender.send((databases::EVENT, text.into()));
        }
        ControlFlow::Continue(())
    });
    match outcome {
        Ok(outcome) if outcome.interrupted.is_none() => {}
        // The sampler holds signals back for itself, so that one which ends the server may reach it alone.
        Ok(_) => {
            shared.samplers.lock().remove(&key);
            shared.stop.cancel();
        }
        Err(error) => fail(shared, key, &error.to_string()),
    }
}

/// Why a source cannot be sampled, where it is among others that can.
fn refused(rows: &Rows, source: &str) -> Option<String> {
    let notes = rows.of(&note::TABLE)?;
    (0..notes.n_rows()).find_map(|row| {
        let why = notes.str(row, note::message)?.strip_prefix("not recorded: ")?;
        (notes.str(row, note::source) == Some(source)).then(|| why.to_owned())
    })
}

/// Signals to all listeners that there is nothing to listen to.
fn fail(shared: &Shared, key: Key, why: &str) {
    let failed = json!({ "error": why }).to_string();
    if let Some(sampler) = shared.samplers.lock().remove(&key) {
        // There may be no listener any more.
        let _ = sampler.sender.send(("failed", failed.into()));
    }
}
