//! The compare crate over runs that are made up: what comes out is worked out by hand.

mod average;
mod causes;
mod diagnosis;
mod explain;
mod groups;
mod one_truth;
mod representative;
mod simulated;
mod trend;
mod windows;

use fenxi_test_support::runs;
