//! Observers on the kernel that runs the tests. What it refuses is said aloud as skipped.

#![allow(clippy::print_stderr, reason = "what is skipped is said where the closing lines of a test run are gathered")]

mod biolatency;
mod iopattern;
mod irqsteal;
mod observed;
mod plockstat;
mod procsystime;
mod profile;
mod programs;
mod querystat;
mod runqlat;
mod util;

use fenxi_test_support::database as server;
