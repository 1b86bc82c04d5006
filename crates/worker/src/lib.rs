//! Engine workers: statements run in processes that may be lost.
//!
//! A statement may hold a fault of the engine, or the intent to use one. So no statement runs in the process
//! that keeps the store or serves people. A *template* process has the engine open ([`Workers`]) and forks a
//! child for each [`Session`]; the child gives up all rights but reading the files of the runs that are asked
//! (Landlock, seccomp, resource limits: crate `engine`), answers over a socket, and is thrown away. What hangs,
//! grows or crashes is one failed request.
//!
//! This crate is the side that asks, and the protocol that both sides speak; it does not link the engine.

pub mod control;
pub mod message;
mod scratch;
mod session;
mod workers;

pub use message::{Answered, Cell, Failure, Request, Setup, Statement};
pub use scratch::remove_if_left;
pub use session::{Session, Stop};
pub use workers::{Start, Workers};

/// Error between a session and its worker.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The program of the workers is missing or does not start.
    #[error("{0}")]
    Start(String),
    /// The engine, or the gate before it, refused the statement.
    #[error("the statement was refused")]
    Failed(Failure),
    /// Somebody stopped the session.
    #[error("the statement was stopped")]
    Stopped,
    /// The worker ended by itself; how it ended.
    #[error("the engine's worker ended: {0}; the statement is at fault, or the engine")]
    Ended(String),
    /// The answer exceeds its limit, in bytes.
    #[error("the answer is larger than the limit of {} MiB; ask for fewer rows or columns, or shorter texts", .0 >> 20)]
    TooLarge(u64),
    /// The worker sent what is no answer.
    #[error("the engine's worker sent a malformed answer: {0}")]
    Malformed(String),
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}
