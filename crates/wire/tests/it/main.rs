//! The client against servers that do not behave.

mod hostile;
mod liar;
mod lies;
