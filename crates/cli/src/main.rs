//! The `fenxi` command.

fn main() {}
