//! One connection to a host: from the shell that looks for a program to the last row.

use std::{
    io,
    time::{Duration, Instant},
};

use fenxi_model::Rows;
use rustix::time::{ClockId, clock_gettime};

use crate::{
    codec::Decoder,
    frame::{FromAgent, Hello, Inbox, Said, ToAgent, id, send},
    link::{Link, Phase},
    pipe::{Came, Transport},
    script::{Answer, script},
};

/// How long a host may take to say its first word.
const FIRST_WORD: Duration = Duration::from_secs(30);
/// How long sources may take to start there.
const START: Duration = Duration::from_secs(60);
/// After so long without a word a host counts as lost, though it may come back.
pub const LOST: Duration = Duration::from_secs(5);
/// After so long it is connected to anew.
const ANEW: Duration = Duration::from_secs(20);
/// How long a host may take nothing of what it is sent.
const STUCK: Duration = Duration::from_secs(20);
/// What a login may print before the first word.
const NOISE: usize = 1 << 20;
/// How long the bell of the end may be missed.
const LOOK: Duration = Duration::from_secs(1);

/// How a connection ended.
#[derive(Debug)]
pub enum Ended {
    /// Everything was said.
    Done,
    /// It was lost, for this reason; it may come back.
    Lost(String),
    /// The other side cannot do what it is told, and never will.
    Refused(String),
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
    let mut session = Session { link, inbox: Inbox::default(), heard: Instant::now(), is_silent: false };
    let ended = session.greet(&mut transport).and_then(|()| session.listen(&mut transport));
    link.tell_lines(transport.take_lines());
    let is_done = matches!(ended, Err(Ended::Done));
    let how = transport.end(&link.input, is_done);
    match ended {
        Ok(()) => Ended::Lost(format!("the transport ended: {how}")),
        Err(ended) => ended,
    }
}

struct Session<'a> {
    link: &'a Link,
    inbox: Inbox,
    heard: Instant,
    is_silent: bool,
}

/// Where a transport has ended, how is known afterwards.
type Step = Result<(), Ended>;

fn lost(error: io::Error) -> Ended {
    Ended::Lost(error.to_string())
}

impl Session<'_> {
    /// Gets an agent to run there.
    fn greet(&mut self, transport: &mut Transport) -> Step {
        let own = std::env::current_exe().map(|path| path.display().to_string()).unwrap_or_default();
        self.link.input.write(script(&id(), &own).as_bytes(), FIRST_WORD).map_err(lost)?;
        let mut until = Instant::now() + FIRST_WORD;
        loop {
            while let Some(line) = self.inbox.line() {
                match Answer::read(&line) {
                    None => {}
                    Some(Answer::Hello(hello)) => return self.hello(&hello),
                    Some(Answer::Failed(why)) => return Err(Ended::Refused(why)),
                    Some(Answer::Wants { machine, packed }) => {
                        self.send_program(&machine, packed)?;
                        until = Instant::now() + FIRST_WORD;
                    }
                }
            }
            if Instant::now() >= until || self.link.is_closed() {
                let seconds = FIRST_WORD.as_secs();
                return Err(Ended::Lost(format!("no shell and no agent answered within {seconds} s")));
            }
            match transport.read(LOOK).map_err(lost)? {
                Came::Bytes(bytes) => self.inbox.add(&bytes),
                Came::Nothing => {}
                Came::End => return Ok(()),
            }
            if self.inbox.waiting() > NOISE {
                return Err(Ended::Refused("it prints without an end, and no agent answers".to_owned()));
            }
        }
    }

    fn send_program(&self, machine: &str, packed: bool) -> Step {
        let program = self.link.programs.of(machine).map_err(Ended::Refused)?;
        let bytes = if packed { &program.packed } else { &program.bytes };
        self.link.tell(&format!("sends the program, {:.1} MB", bytes.len() as f64 / 1e6));
        let head = format!("{} {} {}\n", bytes.len(), program.hash, if packed { "gzip" } else { "" });
        self.link.input.write(head.as_bytes(), STUCK).map_err(lost)?;
        self.link.input.write(bytes, STUCK).map_err(lost)
    }

    fn hello(&mut self, hello: &str) -> Step {
        let hello: Hello = serde_json::from_str(hello)
            .map_err(|error| Ended::Refused(format!("an agent answers that cannot be understood: {error}")))?;
        if hello.id != id() {
            return Err(Ended::Refused(format!("its program is of another version: {}, not {}", hello.id, id())));
        }
        self.heard = Instant::now();
        self.say(&ToAgent::Order(self.link.order.clone()))
    }

    fn say(&self, message: &ToAgent) -> Step {
        let mut bytes = Vec::new();
        send(&mut bytes, message).and_then(|()| self.link.input.write(&bytes, STUCK)).map_err(lost)
    }

    /// Takes what the agent says; Ok when its end of the pipe was closed.
    fn listen(&mut self, transport: &mut Transport) -> Step {
        let mut decoder = Decoder::new().map_err(lost)?;
        let begun = Instant::now();
        loop {
            let now = steady_ns();
            while let Some(frame) = self.inbox.frame().map_err(lost)? {
                match frame {
                    FromAgent::Rows(bytes) => self.rows(&mut decoder, &bytes)?,
                    FromAgent::Said(said) => self.hear(said, now)?,
                }
            }
            self.link.tell_lines(transport.take_lines());
            if self.link.is_closed() {
                return Err(Ended::Done);
            }
            if !self.link.is_live() && begun.elapsed() > START {
                return Err(Ended::Lost(format!("its sources did not start within {} s", START.as_secs())));
            }
            match transport.read(LOOK).map_err(lost)? {
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
        self.link.take_in(&rows, bytes.len());
        decoded.map_err(lost)
    }

    fn hear(&self, said: Said, now: i64) -> Step {
        match said {
            Said::Ping { asked } => self.say(&ToAgent::Pong { asked, got: now, sent: steady_ns() }),
            Said::Ready => {
                if let Some(began) = self.link.ready() {
                    self.say(&ToAgent::Begin(began))?;
                }
                Ok(())
            }
            Said::Refused { why } => Err(Ended::Refused(why)),
            Said::End if self.link.phase() == Phase::Ending => Err(Ended::Done),
            Said::End => Err(Ended::Lost("the agent ended".to_owned())),
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
