//! The load from outside: against a server of the test's own, whose timing is known exactly, and against real ones.

#![expect(clippy::print_stderr, reason = "a test says why a server did not start")]

mod engine;
mod faults;
mod many;
mod real;
mod sha2;
mod tls;

use fenxi_test_support::{database as server, stub};
