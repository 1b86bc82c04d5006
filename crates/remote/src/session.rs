//! One connection to a host: from the shell that looks for a program to the last row.

use std::{
    io,
    time::{Duration, Instant},
};

use fenxi_model::Rows;
use rustix::time::{ClockId, clock_gettime};

use crate::{
    codec::Decoder,
    frame::{AgentMessage, FromAgent, Inbox, ToAgent, send},
    handshake::{Handshake, HandshakeError},
    link::{Link, Phase},
    pipe::{Came, Transport},
};

/// How long sources may take to start there.
const START: Duration = Duration::from_secs(60);
/// After so long without a word a host counts as lost, though it may come back.
pub const LOST: Duration = Duration::from_secs(5);
/// After so long it is connected to anew.
const ANEW: Duration = Duration::from_secs(20);
/// How long the way to an agent may take to end by itself: when the agent has sent everything, and when it has not.
const WAY_ENDS: (Duration, Duration) = (Duration::from_millis(400), Duration::from_millis(100));

/// End of a connection.
#[derive(Debug)]
pub enum Ended {
    /// Everything was sent.
    Done,
    /// Nothing more is wanted of it, or not any longer.
    Unwanted,
    /// It was lost, for this reason; it may come back.
    Lost(String),
    /// The other side cannot do what is ordered, and never will.
    Refused(String),
    /// The transport has ended by itself: how, is known when it was reaped.
    ByItself,
}

/// Connects to the host of `link` and takes its rows until it ends.
pub fn run(link: &Link) -> Ended {
    let mut transport = match Transport::start(&link.target.transport, &link.input) {
        Ok(transport) => transport,
        Err(error) => {
            let program = link.target.transport.first().map_or("", |word| word);
            return Ended::Refused(format!("cannot run `{program}`: {error}"));
        }
    };
    let ended = meet(link, &mut transport).and_then(|mut session| session.listen(&mut transport));
    // Of one that ended by itself, its last message is why.
    if !matches!(ended, Ok(()) | Err(Ended::ByItself)) {
        link.notify_lines(transport.take_lines());
    }
    let patience = match &ended {
        Err(Ended::Done) => WAY_ENDS.0,
        Err(Ended::Unwanted) => WAY_ENDS.1,
        _ => Duration::ZERO,
    };
    let how = transport.end(&link.input, patience);
    match ended {
        Ok(()) | Err(Ended::ByItself) => Ended::Lost(format!("the transport ended: {how}")),
        Err(ended) => ended,
    }
}

/// Gets an agent to run there, and sends it the order.
fn meet<'a>(link: &'a Link, transport: &mut Transport) -> Result<Session<'a>, Ended> {
    let handshake = Handshake {
        programs: &link.programs,
        words: &[],
        notify: &|message| link.notify(message),
        is_unwanted: &|| link.is_closed(),
    };
    let inbox = match handshake.run(transport, &link.input) {
        Ok(inbox) => inbox,
        Err(HandshakeError::Lost(why)) => return Err(Ended::Lost(why)),
        Err(HandshakeError::Refused(why)) => return Err(Ended::Refused(why)),
        Err(HandshakeError::Ended) => return Err(Ended::ByItself),
        Err(HandshakeError::Unwanted) => return Err(Ended::Unwanted),
    };
    let session = Session { link, inbox, heard: Instant::now(), is_silent: false };
    session.say(&ToAgent::Order(link.order.clone()))?;
    Ok(session)
}

struct Session<'a> {
    link: &'a Link,
    inbox: Inbox,
    heard: Instant,
    is_silent: bool,
}

type Step = Result<(), Ended>;

fn lost(error: io::Error) -> Ended {
    Ended::Lost(error.to_string())
}

impl Session<'_> {
    fn say(&self, message: &ToAgent) -> Step {
        let mut bytes = Vec::new();
        send(&mut bytes, message).and_then(|()| self.link.input.say(&bytes)).map_err(lost)
    }

    /// Handles the agent's messages; Ok when its end of the pipe was closed.
    fn listen(&mut self, transport: &mut Transport) -> Step {
        let mut decoder = Decoder::new().map_err(lost)?;
        let begun = Instant::now();
        loop {
            let now = steady_ns();
            while !self.link.is_full()
                && let Some(frame) = self.inbox.frame().map_err(lost)?
            {
                match frame {
                    FromAgent::Rows(bytes) => self.rows(&mut decoder, &bytes)?,
                    FromAgent::Message(reported) => self.hear(reported, now)?,
                }
            }
            self.link.notify_lines(transport.take_lines());
            if self.link.is_closed() {
                return Err(Ended::Unwanted);
            }
            // Messages queued while it took nothing.
            self.link.input.say(&[]).map_err(lost)?;
            if !self.link.is_live() && begun.elapsed() > START {
                return Err(Ended::Lost(format!("its sources did not start within {} s", START.as_secs())));
            }
            if self.link.is_full() {
                // The recorder takes it at its next tick; what comes meanwhile waits at the host.
                self.link.wait_for_room(self.link.patience());
                self.heard = Instant::now();
                continue;
            }
            match transport.read(self.link.patience()).map_err(lost)? {
                Came::Bytes(bytes) => {
                    self.heard = Instant::now();
                    if std::mem::take(&mut self.is_silent) {
                        self.link.back();
                    }
                    self.inbox.add(&bytes);
                }
                Came::Nothing => self.silence()?,
                Came::End => return Ok(()),
            }
        }
    }

    fn rows(&self, decoder: &mut Decoder, bytes: &[u8]) -> Step {
        let mut rows = Rows::new(&self.link.target.name);
        let decoded = decoder.decode(bytes, &mut rows);
        self.link.take_in(&rows, decoder.size());
        decoded.map_err(lost)
    }

    fn hear(&self, reported: AgentMessage, now: i64) -> Step {
        match reported {
            AgentMessage::Ping { asked } => self.say(&ToAgent::Pong { asked, got: now, sent: steady_ns() }),
            AgentMessage::Ready => {
                if let Some(began) = self.link.ready() {
                    self.say(&ToAgent::Begin(began))?;
                }
                Ok(())
            }
            AgentMessage::Refused { why } => Err(Ended::Refused(why)),
            AgentMessage::End if self.link.phase() == Phase::Ending => Err(Ended::Done),
            AgentMessage::End => Err(Ended::Lost("the agent ended".to_owned())),
        }
    }

    fn silence(&mut self) -> Step {
        let silent = self.heard.elapsed();
        if silent >= ANEW {
            return Err(Ended::Lost(format!("nothing was heard of it for {} s", silent.as_secs())));
        }
        if silent >= LOST && !std::mem::replace(&mut self.is_silent, true) {
            self.link.lost(&format!("nothing was heard of it for {} s", LOST.as_secs()), self.heard);
        }
        Ok(())
    }
}

/// Nanoseconds of the monotonic clock.
pub fn steady_ns() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}
