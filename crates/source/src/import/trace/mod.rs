//! Tracers and profilers: perf, strace, truss, and the DTrace family.

mod locks;
mod report;
mod stacks;
mod syscalls;

formats! {
    folded,
    lockstat,
    perf_script,
    perf_stat,
    plockstat,
    procsystime,
    strace,
    truss,
}
