//! Other hosts of a recording: a command (`ssh`, unless said otherwise) reaches each of them, and an agent at its other end samples
//! there and sends rows through the pipe. Nothing listens at any port.
//!
//! [`Hosts`] is the recorder's end, a source like any other; [`agent`] is the other one. A thread for each host takes what comes
//! (`link.rs`, `session.rs`), so that a slow or dead one holds up nothing. An agent asks for the recorder's time all along
//! (`clock.rs`), samples at the recorder's ticks and stamps rows by its clock. Rows travel as differences, compressed (`codec/`).

pub mod agent;
mod clock;
mod codec;
mod elsewhere;
mod frame;
mod greet;
mod hosts;
#[cfg(test)]
mod liars;
mod link;
mod pipe;
mod program;
mod script;
mod session;
mod target;
mod words;

pub use elsewhere::Elsewhere;
pub use frame::id;
pub use hosts::{Hosts, HostsError, Wanted};
pub use program::{Programs, hash};
pub use target::Target;
