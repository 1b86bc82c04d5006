//! Tracers and profilers: perf, strace, truss, and the DTrace family.

mod locks;
mod report;
mod stacks;

formats! {
    lockstat,
    plockstat,
}
