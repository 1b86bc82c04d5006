//! Tracers and profilers: perf, strace, truss, and the DTrace family.

mod distribution;
mod locks;
mod report;
mod stacks;
mod syscalls;

formats! {
    bcc,
    bcc_events,
    bcc_stacks,
    bpftrace,
    querystat,
    dtrace,
    folded,
    lockstat,
    perf_script,
    perf_report,
    perf_stat,
    perf_trace,
    plockstat,
    procsystime,
    strace,
    truss,
    jvm_gc,
    jstat,
    dtrace_stacks,
}
