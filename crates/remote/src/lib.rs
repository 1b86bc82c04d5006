//! Other hosts of a recording: a command (`ssh` by default) reaches each of them, and an agent at its other end samples
//! there and sends rows through the pipe. Nothing listens at any port.
//!
//! [`Hosts`] is the recorder's end, a source like any other; [`agent`] is the other one. A thread for each host takes what comes
//! (`link.rs`, `session.rs`), so that a slow or dead one holds up nothing. An agent asks for the recorder's time all along
//! (`clock.rs`), samples at the recorder's ticks and stamps rows by its clock. Rows travel as differences, compressed (`codec/`).

pub mod agent;
mod clock;
mod codec;
mod frame;
mod handshake;
#[cfg(test)]
mod hostile_agents;
mod hosts;
mod link;
mod pipe;
mod program;
mod remote_command;
mod script;
mod session;
mod shell_words;
mod target;

pub use frame::id;
pub use hosts::{Hosts, HostsError, Wanted};
pub use program::{Programs, hash};
pub use remote_command::RemoteCommand;
pub use target::Target;
