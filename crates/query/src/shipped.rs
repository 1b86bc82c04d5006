//! The shipped questions: each is one file in `questions/` and one line here.

macro_rules! shipped {
    ($($name:literal,)+) => {
        /// Name and text of every shipped question.
        pub const SHIPPED: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../../questions/", $name, ".sql")))),+];
    };
}

shipped! {
    "busiest-interfaces",
    "cgroup-usage",
    "cpu-balance",
    "cpu-heatmap",
    "cpu-summary",
    "cpu-time",
    "db-statements",
    "db-throughput",
    "db-waits",
    "disk-latency",
    "disk-throughput",
    "disk-util",
    "distributions",
    "events",
    "facts",
    "fs-usage",
    "hot-disks",
    "hottest-cpu",
    "interrupts-by-cpu",
    "interrupts-heatmap",
    "load-throughput",
    "lock-contention",
    "memory-available",
    "memory-breakdown",
    "memory-pressure",
    "net-errors",
    "net-throughput",
    "notes",
    "other-metrics",
    "page-faults",
    "pressure-timeline",
    "process-cpu",
    "process-io",
    "process-memory",
    "process-waits",
    "resource-summary",
    "result-summary",
    "run-queue",
    "scheduler-rates",
    "slow-disks",
    "softirqs",
    "syscalls",
    "tcp-connections",
    "tcp-health",
    "top-processes",
    "top-stacks",
    "what-changed",
}
