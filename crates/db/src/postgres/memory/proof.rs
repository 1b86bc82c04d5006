//! Whether memory holds what the server reports: a session that does the same before and after the server is asked must be the same in
//! its answer. One that moves on proves nothing, so that our own session is among those that are compared.

use std::time::{Duration, Instant};

use fenxi_wire::client::ClientError;
use rustc_hash::FxHashMap;

use super::{
    events::Events,
    image::{Backend, Image, MemoryError},
    looker::LookError,
};
use crate::{client::Client, postgres::MARK};

/// How long our own session may take to wait again.
const PATIENCE: Duration = Duration::from_millis(100);

/// The columns that are asked for, each as text that can be compared.
const ASKED: &str = "pid, backend_type, coalesce(state, ''), coalesce(wait_event_type, ''), coalesce(wait_event, ''), \
    coalesce(datid, 0), coalesce(usesysid, 0), coalesce(query_id, 0), \
    coalesce((extract(epoch FROM query_start - '2000-01-01 00:00:00+00') * 1000000)::int8, 0), \
    coalesce((extract(epoch FROM backend_start - '2000-01-01 00:00:00+00') * 1000000)::int8, 0), \
    application_name, pid = pg_backend_pid() FROM pg_stat_get_activity(NULL) WHERE pid IS NOT NULL ORDER BY pid LIMIT 1000";

/// A session as the server reported it.
struct Said {
    kind: String,
    state: String,
    wait: (String, String),
    numbers: [i64; 5],
    application: String,
    is_own: bool,
}

/// Compares.
///
/// # Errors
/// When something differs, memory may not be read, or the connection is lost.
pub fn prove(image: &mut Image, events: &mut Events, client: &mut Client) -> Result<(), LookError> {
    let before: FxHashMap<u32, Backend> = image.look()?.iter().map(|backend| (backend.pid, *backend)).collect();
    let said = ask(client)?;
    let mut after = waiting(image, &said)?;
    let mut applications = FxHashMap::default();
    image.applications(&mut after, &mut |backend, name| {
        applications.insert(backend.pid, name.to_owned());
        true
    })?;
    let mut has_own = false;
    for now in &after {
        let Some(said) = said.get(&now.pid) else { continue };
        // A role that is not let see others sees nothing of them.
        if said.kind.is_empty() {
            continue;
        }
        let layout = image.layout();
        let numbers = [i64::from(now.database), i64::from(now.user), now.query_id, now.since[2], now.since[0]];
        let mut differs = None;
        let mut expect = |what: &str, memory: &str, server: &str| {
            if memory != server && differs.is_none() {
                differs = Some(format!("{what} of process {} is `{memory}` in memory, and `{server}`", now.pid));
            }
        };
        if said.is_own {
            has_own = true;
            expect("the state of our session", layout.state(now.state), "idle");
            expect("the wait of our session", events.name(now.word).1.unwrap_or_default(), "ClientRead");
        } else if before.get(&now.pid) != Some(now) {
            continue;
        } else {
            expect("the state", layout.state(now.state), &said.state);
            let (class, event) = events.name(now.word);
            expect("the class of the wait", class, &said.wait.0);
            match event {
                Some(event) => expect("the wait", event, &said.wait.1),
                None => events.learn(now.word, &said.wait.1),
            }
        }
        let kind = layout.kind(now.kind);
        if kind != super::layout::WORKER {
            expect("the kind", kind, &said.kind);
        }
        for (what, (memory, server)) in
            ["the database", "the user", "the statement's number", "the statement's begin", "the begin"]
                .into_iter()
                .zip(numbers.into_iter().zip(said.numbers))
        {
            expect(what, &memory.to_string(), &server.to_string());
        }
        expect("the application", applications.get(&now.pid).map_or("", String::as_str), &said.application);
        if let Some(differs) = differs {
            return Err(MemoryError::Unknown(format!("{differs} as the server reports it")).into());
        }
    }
    if !has_own {
        return Err(MemoryError::Unknown("our own session is not among those in memory".to_owned()).into());
    }
    Ok(())
}

/// State of all processes once our own session waits for its next statement, or after [`PATIENCE`].
fn waiting(image: &mut Image, said: &FxHashMap<u32, Said>) -> Result<Vec<Backend>, MemoryError> {
    let own = said.iter().find(|(_, said)| said.is_own).map(|(pid, _)| *pid);
    let until = Instant::now() + PATIENCE;
    loop {
        let all = image.look()?;
        let is_there = all.iter().any(|backend| Some(backend.pid) == own && backend.word != 0);
        if is_there || Instant::now() >= until {
            return Ok(all.to_vec());
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}

fn ask(client: &mut Client) -> Result<FxHashMap<u32, Said>, ClientError> {
    let mut said = FxHashMap::default();
    client.each(&format!("SELECT {MARK} {ASKED}"), &mut |row| {
        let Some(pid) = row.i64(0).and_then(|pid| u32::try_from(pid).ok()) else { return };
        let text = |place| row.text(place).unwrap_or_default().to_owned();
        let numbers = [5, 6, 7, 8, 9].map(|place| row.i64(place).unwrap_or_default());
        let is = Said {
            kind: text(1),
            state: text(2),
            wait: (text(3), text(4)),
            numbers,
            application: text(10),
            is_own: row.is_yes(11) == Some(true),
        };
        said.insert(pid, is);
    })?;
    Ok(said)
}
