//! Observers on the kernel that runs the tests. What it refuses is said aloud as skipped.

#![allow(clippy::print_stderr, reason = "what is skipped is said where the closing lines of a test run are gathered")]

mod biolatency;
mod dbwait;
mod iopattern;
mod irqsteal;
mod observed;
mod plockstat;
mod procsystime;
mod profile;
mod programs;
mod querystat;
mod runqlat;
#[allow(dead_code, reason = "tests of loads use more of it")]
#[path = "../../../load/tests/it/server.rs"]
mod server;
mod util;
