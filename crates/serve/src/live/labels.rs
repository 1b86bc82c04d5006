//! Events for listeners when the labels of runs change, with any program: a page shows the remark of somebody else as it is made.

use std::{collections::BTreeMap, time::Duration};

use axum::response::sse::Event;
use fenxi_model::RunId;
use fenxi_store::LabelStamp;
use futures_util::Stream;
use serde_json::json;
use tokio::sync::mpsc::{Sender, channel};
use tokio_stream::wrappers::ReceiverStream;

use crate::{access::Access, change::blocking, reply::Failure, rights::Asker, visit::Visit};

/// How often the files of labels are looked at.
const LOOK: Duration = Duration::from_millis(500);
/// Runs of one listener.
const MOST: usize = 100;

/// Known labels of each run: their file as it was, and the version that was sent.
type Known = BTreeMap<RunId, (Option<LabelStamp>, String)>;

/// An event for the labels of each run, and one whenever they change; `end` when a run is no more to be seen.
pub(super) async fn events(
    visit: &Visit,
    selectors: Vec<String>,
) -> Result<impl Stream<Item = Event> + use<>, Failure> {
    let asked = visit.clone();
    let known = blocking(move || {
        let store = asked.store()?;
        let runs = store.select_all(&selectors)?;
        if runs.len() > MOST {
            return Err(Failure::wrong(format!("more than {MOST} runs are watched")));
        }
        let now = |id: RunId| {
            let stamp = store.labels_stamp(&id);
            let version = store.run(&id)?.labels.version();
            Ok((id, (stamp, version)))
        };
        runs.into_iter().map(now).collect::<Result<Known, Failure>>()
    });
    let (known, visit) = (known.await?, visit.clone());
    let (sender, receiver) = channel(16);
    tokio::spawn(async move {
        let last = match follow(&visit, known, &sender).await {
            Ok(()) => return,
            Err(failure) => Event::default().event("end").data(json!({ "error": failure.text() }).to_string()),
        };
        // A listener that has gone needs no message.
        let _ = sender.send(last).await;
    });
    Ok(ReceiverStream::new(receiver))
}

fn event(id: &RunId, version: &str) -> Event {
    Event::default().event("labels").data(json!({ "run": id, "version": version }).to_string())
}

/// Sends events until the listener has gone; an error when there is nothing more to see.
async fn follow(visit: &Visit, mut known: Known, sender: &Sender<Event>) -> Result<(), Failure> {
    for (id, (_, version)) in &known {
        if sender.send(event(id, version)).await.is_err() {
            return Ok(());
        }
    }
    loop {
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            () = sender.closed() => return Ok(()),
        }
        still_valid(visit)?;
        let asked = visit.clone();
        let (now, changed) = blocking(move || look(&asked, known)).await?;
        known = now;
        for id in changed {
            let version = known.get(&id).map_or("", |(_, version)| version);
            if sender.send(event(&id, version)).await.is_err() {
                return Ok(());
            }
        }
    }
}

/// A stream lasts no longer than the token with which it was asked for.
fn still_valid(visit: &Visit) -> Result<(), Failure> {
    match (&visit.settings.access, &visit.asker) {
        (Access::Tokens(tokens), Asker::Token(token)) if tokens.of_hash(&token.hash).as_ref() != Some(token) => {
            Err(Failure::forbidden("this token is no longer valid"))
        }
        _ => Ok(()),
    }
}

/// The runs whose labels have changed. The store is asked only where a file is another one: runs may be many.
fn look(visit: &Visit, mut known: Known) -> Result<(Known, Vec<RunId>), Failure> {
    let all = &visit.settings.store;
    let moved = known.iter().filter(|(id, (stamp, _))| all.labels_stamp(id) != *stamp || !all.run_dir(id).is_dir());
    let moved: Vec<RunId> = moved.map(|(id, _)| id.clone()).collect();
    let mut changed = Vec::new();
    if moved.is_empty() {
        return Ok((known, changed));
    }
    // As who asks sees it now: a run may have gone to another project.
    let store = visit.store()?;
    for id in moved {
        let stamp = store.labels_stamp(&id);
        let version = store.run(&id)?.labels.version();
        if known.insert(id.clone(), (stamp, version.clone())).is_none_or(|(_, before)| before != version) {
            changed.push(id);
        }
    }
    Ok((known, changed))
}
