//! The two threads at the pipe.

use std::{
    io::{self, Read, Write},
    time::{Duration, Instant},
};

use super::{Shared, State};
use crate::{
    clock::Exchange,
    codec::Encoder,
    frame::{AgentMessage, ToAgent, receive, send, send_rows},
};

/// Between two questions for the time.
const PING: Duration = Duration::from_secs(1);
/// As long as hardly anything is known.
const FIRST_PING: Duration = Duration::from_millis(20);
/// So many exchanges determine the clock offset.
pub const FIRST_PINGS: usize = 6;

/// Handles the recorder's messages, until it is gone.
pub fn read(shared: &Shared, mut input: impl Read) {
    let why = loop {
        let message = receive(&mut input);
        let now = shared.clock.steady_ns();
        match message {
            Ok(Some(message)) => shared.change(|state| hear(state, message, now)),
            Ok(None) => break "it has closed the pipe".to_owned(),
            Err(error) => break error.to_string(),
        }
    };
    shared.change(|state| state.gone = state.gone.take().or(Some(why)));
}

fn hear(state: &mut State, message: ToAgent, now: i64) {
    state.heard = Instant::now();
    match message {
        ToAgent::Order(order) => state.order = Some(order),
        ToAgent::Begin(began) if began.is_possible() => state.began = Some(began),
        ToAgent::Begin(began) => state.gone = Some(format!("it began at a time that no clock shows: {began:?}")),
        ToAgent::Facts => state.facts = true,
        ToAgent::Stop => state.stop = true,
        ToAgent::Pong { asked, got, sent } => {
            let exchange = Exchange { asked, got, sent, answered: now };
            state.impossible += u64::from(!exchange.is_possible());
            let stepped = state.follower.add(exchange);
            state.stepped = stepped.or(state.stepped);
        }
    }
}

/// Sends what there is to send, until everything was sent.
pub fn write(shared: &Shared, mut output: impl Write) {
    let done = say_all(shared, &mut output);
    shared.change(|state| match done {
        Ok(()) => state.is_said = true,
        Err(error) => state.gone = state.gone.take().or(Some(error.to_string())),
    });
}

fn say_all(shared: &Shared, output: &mut impl Write) -> io::Result<()> {
    let mut encoder = Encoder::new()?;
    let mut next_ping = Instant::now();
    loop {
        let has_more = |state: &State| state.word.is_some() || !state.queue.is_empty() || state.is_done;
        // Whether the time was over or there is something to say is seen below.
        let _ = shared.wait(Some(next_ping), has_more);
        let (rows, word, is_done) = {
            let mut state = shared.lock();
            if state.gone.is_some() {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            let rows = state.queue.pop();
            (rows, state.word.take(), state.is_done && state.queue.is_empty())
        };
        if let Some(word) = word {
            send(output, &word)?;
        }
        if let Some(rows) = rows {
            let sent = send_rows(output, &encoder.encode(&rows)?)?;
            shared.lock().sent_bytes += sent as u64;
        }
        if is_done {
            return send(output, &AgentMessage::End);
        }
        if Instant::now() >= next_ping {
            send(output, &AgentMessage::Ping { asked: shared.clock.steady_ns() })?;
            let is_known = shared.lock().follower.len() >= FIRST_PINGS;
            next_ping = Instant::now() + if is_known { PING } else { FIRST_PING };
        }
    }
}
