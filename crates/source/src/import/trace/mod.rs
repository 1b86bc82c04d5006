//! Tracers and profilers: perf, strace, truss, and the DTrace family.

mod locks;
mod report;
mod stacks;
mod syscalls;

formats! {
    lockstat,
    plockstat,
    procsystime,
    strace,
    truss,
}
