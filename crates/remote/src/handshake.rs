//! Getting a program to run at the other end of a transport.

use std::time::{Duration, Instant};

use crate::{
    frame::{Hello, Inbox, id},
    pipe::{Came, Input, Transport},
    program::Programs,
    script::{Answer, script},
};

/// How long a host may take to send its first line.
const FIRST_WORD: Duration = Duration::from_secs(30);
/// How long a host may take nothing of what it is sent.
const STUCK: Duration = Duration::from_secs(20);
/// How often the program is sent.
const MOST_SENT: usize = 3;
/// Bytes that a login may print before the first word.
const NOISE: usize = 1 << 20;
/// Interval of polling for the end.
pub const LOOK: Duration = Duration::from_secs(1);

/// Why no program runs there.
#[derive(Debug)]
pub enum HandshakeError {
    /// The way there is lost; it may work later.
    Lost(String),
    /// It will never work.
    Refused(String),
    /// The transport has ended by itself, its exit status shows how.
    Ended,
    /// It is not wanted any more.
    Unwanted,
}

/// The recorder's side of a handshake.
pub struct Handshake<'a> {
    /// Programs that can be sent.
    pub programs: &'a Programs,
    /// The arguments of `fenxi agent`.
    pub words: &'a [String],
    /// Called with what takes time.
    pub notify: &'a dyn Fn(&str),
    /// Whether it is not wanted any more.
    pub is_unwanted: &'a dyn Fn() -> bool,
}

impl Handshake<'_> {
    /// Gets a program to run behind `transport`; gives what had come behind its first word.
    ///
    /// # Errors
    /// When that is not to be had.
    pub fn run(&self, transport: &mut Transport, input: &Input) -> Result<Inbox, HandshakeError> {
        let lost = |error: std::io::Error| HandshakeError::Lost(error.to_string());
        let mut inbox = Inbox::default();
        let own = std::env::current_exe().map(|path| path.display().to_string()).unwrap_or_default();
        if input.write(script(&id(), &own, self.words).as_bytes(), FIRST_WORD).is_err() {
            return Err(HandshakeError::Ended);
        }
        let (mut until, mut sent) = (Instant::now() + FIRST_WORD, 0);
        loop {
            while let Some(line) = inbox.line() {
                match Answer::read(&line) {
                    None => {}
                    Some(Answer::Hello(hello)) => return check(&hello).map(|()| inbox),
                    Some(Answer::Failed(why)) => return Err(HandshakeError::Refused(why)),
                    Some(Answer::Wants { .. }) if sent == MOST_SENT => {
                        return Err(HandshakeError::Refused("it asks for the program again and again".to_owned()));
                    }
                    Some(Answer::Wants { machine, packed }) => {
                        sent += 1;
                        self.send_program(input, &machine, packed)?;
                        until = Instant::now() + FIRST_WORD;
                    }
                }
            }
            if (self.is_unwanted)() {
                return Err(HandshakeError::Unwanted);
            }
            if Instant::now() >= until {
                let seconds = FIRST_WORD.as_secs();
                return Err(HandshakeError::Lost(format!("no shell and no agent answered within {seconds} s")));
            }
            match transport.read(LOOK).map_err(lost)? {
                Came::Bytes(bytes) => inbox.add(&bytes),
                Came::Nothing => {}
                Came::End => return Err(HandshakeError::Ended),
            }
            if inbox.waiting() > NOISE {
                return Err(HandshakeError::Refused("it prints without an end, and no agent answers".to_owned()));
            }
        }
    }

    fn send_program(&self, input: &Input, machine: &str, packed: bool) -> Result<(), HandshakeError> {
        let program = self.programs.for_machine(machine).map_err(HandshakeError::Refused)?;
        let bytes = if packed { &program.packed } else { &program.bytes };
        (self.notify)(&format!("sends the program, {:.1} MB", bytes.len() as f64 / 1e6));
        let head = format!("{} {} {}\n", bytes.len(), program.hash, if packed { "gzip" } else { "" });
        let sent = input.write(head.as_bytes(), STUCK).and_then(|()| input.write(bytes, STUCK));
        // Where it does not take it, it reports why.
        sent.map_err(|error| HandshakeError::Lost(format!("the program could not be sent: {error}")))
    }
}

/// Whether the other side is of this version.
fn check(hello: &str) -> Result<(), HandshakeError> {
    let hello: Hello = serde_json::from_str(hello)
        .map_err(|error| HandshakeError::Refused(format!("an agent answers that cannot be understood: {error}")))?;
    if hello.id == id() {
        Ok(())
    } else {
        Err(HandshakeError::Refused(format!("its program is of another version: {}, not {}", hello.id, id())))
    }
}
