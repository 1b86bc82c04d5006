//! The load from outside: against a server of the test's own, whose timing is known exactly, and against real ones.

mod engine;
mod real;
mod stub;
