//! The client against servers that do not behave.

mod hostile;
mod lies;

use fenxi_test_support::liar;
