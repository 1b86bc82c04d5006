//! Observers on the kernel that runs the tests. What it refuses is said aloud as skipped.

mod observed;
mod procsystime;
