//! Observers on the kernel that runs the tests. What it refuses is reported as skipped.

#![allow(
    clippy::print_stderr,
    reason = "what is skipped is printed where the closing lines of a test run are gathered"
)]

mod biolatency;
mod cachestat;
mod contention;
mod dbwait;
mod iopattern;
mod irqsteal;
mod microstates;
mod observed;
mod plockstat;
mod procsystime;
mod profile;
mod programs;
mod python;
mod querystat;
mod runqlat;
mod util;

use fenxi_test_support::database as server;
