//! The engine worker: what runs statements, and may be lost.
//!
//! The program is started by `fenxi_worker::Workers` with a socket for its standard input. It opens DuckDB in
//! memory ([`database`]) and waits as a *template* ([`template`]); for each session it forks a child, which gives
//! up all rights but reading some files ([`sandbox`]) and answers requests ([`session`]). Each statement passes
//! the gate ([`gate`]): by the engine's own parser it is one statement that only reads, and calls only functions
//! of a list ([`functions`]).
//!
//! DuckDB is called by its C interface ([`ffi`]); [`connection`] and [`rows`] make safe types of it.
//!
//! The gate is for clear words, the sandbox is what holds: whatever a statement makes the engine do, its process
//! can read only what its answer may hold, and write only where it spills.

mod connection;
mod database;
mod ffi;
mod functions;
mod gate;
mod nesting;
mod rows;
mod sandbox;
mod session;
mod template;

use std::{path::Path, process::ExitCode};

/// The argument that makes the program a template, before the folder for spilling; it guards against being started by hand.
pub const ARGUMENT: &str = "--template";

/// The program: a template until who started it has gone. Errors of the engine at the start go to standard error;
/// there is no other receiver.
pub fn program() -> ExitCode {
    match std::env::args_os().nth(1) {
        Some(argument) if argument == ARGUMENT => {
            match template::serve(std::env::args_os().nth(2).as_deref().map(Path::new)) {
                Ok(()) => ExitCode::SUCCESS,
                Err(_) => ExitCode::FAILURE,
            }
        }
        Some(argument) if argument == "--version" => ExitCode::SUCCESS,
        // Started by hand: it has nothing to say to a person.
        _ => ExitCode::from(2),
    }
}
