//! Any command of Fenxi on another host: its output comes back, and it ends when the local end is closed.

use std::{
    io::{self, Write},
    process::{ChildStdin, ChildStdout},
    time::Duration,
};

use crate::{
    handshake::{Handshake, HandshakeError, LOOK},
    pipe::{Came, Input, Transport},
    program::Programs,
    target::Target,
};

/// A program that runs at another host.
pub struct RemoteCommand {
    transport: Transport,
    input: Input,
    /// Output that has come already.
    first: Vec<u8>,
}

impl RemoteCommand {
    /// Runs `fenxi agent` with `words` at `target`; `notify` is called with what takes time.
    ///
    /// # Errors
    /// In words: it cannot be reached, or no program runs there.
    pub fn run(
        target: &Target,
        programs: &Programs,
        words: &[String],
        notify: &dyn Fn(&str),
    ) -> Result<RemoteCommand, String> {
        let name = &target.name;
        let input = Input::default();
        let mut transport = Transport::start(&target.transport, &input).map_err(|error| {
            format!("host {name}: cannot run `{}`: {error}", target.transport.first().map_or("", |word| word))
        })?;
        let handshake = Handshake {
            programs,
            words,
            notify: &|message| notify(&format!("{name}: {message}")),
            is_unwanted: &|| false,
        };
        match handshake.run(&mut transport, &input) {
            Ok(mut inbox) => Ok(RemoteCommand { transport, first: inbox.rest(), input }),
            Err(unmet) => {
                let how = transport.end(&input, Duration::ZERO);
                Err(match unmet {
                    HandshakeError::Lost(why) | HandshakeError::Refused(why) => format!("host {name}: {why}"),
                    HandshakeError::Ended | HandshakeError::Unwanted => {
                        format!("host {name}: the transport ended: {how}")
                    }
                })
            }
        }
    }

    /// Passes what it prints on to `output`, and lines of its standard error to `say`, until it has ended; it is asked to end when
    /// `is_over`. Gives its exit status.
    ///
    /// # Errors
    /// When `output` takes nothing more; it has ended then.
    pub fn follow(mut self, output: &mut dyn Write, say: &dyn Fn(&str), is_over: &dyn Fn() -> bool) -> io::Result<i32> {
        let first = std::mem::take(&mut self.first);
        let mut written = output.write_all(&first).and_then(|()| output.flush());
        while written.is_ok() {
            if is_over() {
                // It reads the end of its input, and ends as by Ctrl-C.
                self.input.close();
            }
            match self.transport.read(LOOK / 5) {
                Ok(Came::Bytes(bytes)) => written = output.write_all(&bytes).and_then(|()| output.flush()),
                Ok(Came::Nothing) => {}
                Ok(Came::End) | Err(_) => break,
            }
            self.transport.take_lines().iter().for_each(|line| say(line));
        }
        let (status, lines) = self.transport.wait(&self.input);
        lines.iter().for_each(|line| say(line));
        written.map(|()| status)
    }

    /// The pipes to it, for a caller with its own protocol; it ends when they are closed.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn into_pipes(self) -> io::Result<(ChildStdout, ChildStdin)> {
        let input = self.input.take_blocking()?;
        let output = self.transport.into_output()?;
        Ok((output, input))
    }
}
