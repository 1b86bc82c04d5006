//! Follows a run that is being recorded, tick by tick.

use std::{collections::BTreeMap, time::Duration};

use axum::response::sse::Event;
use fenxi_model::catalog::process;
use fenxi_store::{Follow, Store, StoreError};
use futures_util::Stream;
use tokio::sync::mpsc::{Sender, channel};
use tokio_stream::wrappers::ReceiverStream;

use super::{
    sampler::live_tables,
    values::{Tick, of_batch},
};
use crate::{reply::Failure, shared::Shared};

/// How often the streams are looked at.
const LOOK: Duration = Duration::from_millis(500);
/// Ticks of the past that a listener is given first.
const PAST: usize = 600;
/// Values of the past that a listener is given first.
const PAST_VALUES: usize = 200_000;

/// Ticks of the run that `selector` names: those of the past, then those that come; `end` when it is sealed.
pub(super) fn events(store: &Store, selector: &str) -> Result<impl Stream<Item = Event> + use<>, Failure> {
    let recordings = store.recordings()?;
    let named = |r: &&fenxi_store::Recorded| r.id.as_str() == selector || r.begin.name.as_deref() == Some(selector);
    let run = recordings.iter().find(named).map(|r| r.id.clone());
    let run = run.ok_or_else(|| Failure::unknown(format!("no run `{selector}` is being recorded")))?;
    let follow = store.follow(&run)?;
    let (sender, receiver) = channel(16);
    std::thread::spawn(move || {
        let last = match read(follow, &sender) {
            Ok(()) => Event::default().event("end").data(format!("{{\"run\":\"{run}\"}}")),
            Err(error) => {
                Event::default().event("failed").data(serde_json::json!({ "error": error.to_string() }).to_string())
            }
        };
        // A listener that has gone needs no message.
        let _ = sender.blocking_send(last);
    });
    Ok(ReceiverStream::new(receiver))
}

/// Bytes of a recording that are read at most for what it saw until now.
const MOST_BYTES: u64 = 256 << 20;

/// Ticks of this machine's latest recording until now, as far as the page of this machine shows it; empty without one.
pub(super) fn past(shared: &Shared) -> Vec<Tick> {
    let store = &shared.settings.store;
    let is_here = |r: &&fenxi_store::Recorded| r.begin.host == shared.settings.host;
    let Some(run) = store.recordings().ok().and_then(|all| all.iter().find(is_here).map(|r| r.id.clone())) else {
        return Vec::new();
    };
    if store.open_bytes(&run) > MOST_BYTES {
        return Vec::new();
    }
    // An unreadable recording is no reason to show nothing of the ticks to come.
    let batches = store.follow(&run).and_then(|mut follow| follow.advance()).ok().flatten().unwrap_or_default();
    let (tables, mut ticks) = (live_tables(), BTreeMap::new());
    for (table, batch) in &batches {
        if tables.contains(table.name) || table.name == process::TABLE.name {
            of_batch(table, batch, &mut ticks);
        }
    }
    // The latest tick may not be whole yet.
    ticks.pop_last();
    ticks.values_mut().for_each(|tick| tick.keep(&tables));
    recent(ticks).into_values().filter(|tick| !tick.values.is_empty()).collect()
}

/// Sends ticks until the recording ends or no listener is left.
fn read(mut follow: Follow, sender: &Sender<Event>) -> Result<(), StoreError> {
    let mut held: BTreeMap<i64, Tick> = BTreeMap::new();
    let mut is_first = true;
    while let Some(batches) = follow.advance()? {
        for (table, batch) in &batches {
            of_batch(table, batch, &mut held);
        }
        if std::mem::take(&mut is_first) {
            held = recent(held);
        }
        // Tables are written one after the other: the latest tick may not be whole yet.
        let latest = held.last_key_value().map_or(i64::MIN, |(t, _)| *t);
        let not_whole = if batches.is_empty() { BTreeMap::new() } else { held.split_off(&latest) };
        if !send(std::mem::replace(&mut held, not_whole), sender) {
            return Ok(());
        }
        std::thread::sleep(LOOK);
        if sender.is_closed() {
            return Ok(());
        }
    }
    send(held, sender);
    Ok(())
}

/// The latest of `ticks`, as many as a listener is given.
fn recent(mut ticks: BTreeMap<i64, Tick>) -> BTreeMap<i64, Tick> {
    let mut values = 0;
    let mut enough = |tick: &Tick| {
        values += tick.values.len();
        values <= PAST_VALUES
    };
    let first = ticks.iter().rev().take(PAST).take_while(|(_, tick)| enough(tick)).last().map(|(t, _)| *t);
    first.map(|t| ticks.split_off(&t)).unwrap_or_default()
}

/// Whether somebody still listens.
fn send(ticks: BTreeMap<i64, Tick>, sender: &Sender<Event>) -> bool {
    let mut ticks = ticks.values().filter(|tick| !tick.values.is_empty());
    ticks.all(|tick| sender.blocking_send(Event::default().event("tick").data(tick.text())).is_ok())
}
