//! The compare crate over runs that are made up: what comes out is worked out by hand.

mod diagnosis;
mod explain;
mod groups;
mod one_truth;
mod representative;
mod runs;
mod trend;
mod windows;
