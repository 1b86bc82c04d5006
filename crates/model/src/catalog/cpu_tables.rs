//! Processors and the scheduler.

table! {
    /// CPU utilisation by state. One row per CPU, and one with `cpu` NULL for all CPUs together.
    cpu [cpu] is (Cpu, Series, Passing) {
        /// CPU number; NULL in the row for all CPUs together.
        cpu: label(),
        /// Share of time in user code at normal priority, excluding guests. High usr is work; profile it.
        usr: percent(Neither),
        /// Share of time in user code at lowered priority (nice above 0).
        nice: percent(Neither),
        /// Share of time in the kernel on behalf of tasks. A usr/sys ratio near one or below asks which system calls.
        sys: percent(Lower),
        /// Share of time idle while a task that last ran here waited for disk I/O. This is idle time, not load.
        iowait: percent(Lower),
        /// Share of time in hardware interrupt handlers.
        irq: percent(Lower),
        /// Share of time in softirqs (network receive, timers, block completions).
        softirq: percent(Lower),
        /// Share of time the hypervisor ran something else while this virtual CPU was runnable.
        steal: percent(Lower),
        /// Share of time running guests of this host's hypervisor.
        guest: percent(Neither),
        /// Share of time running guests at lowered priority.
        guest_nice: percent(Neither),
        /// Share of time idle, without disk I/O awaited.
        idle: percent(Neither),
        /// Interrupts handled per second.
        intr_per_s: rate(PerS, Neither),
        /// Interrupts handled by interrupt threads, per second (Solaris ithr).
        interrupt_threads_per_s: rate(PerS, Neither),
        /// Context switches per second.
        context_switches_per_s: rate(PerS, Neither),
        /// Involuntary context switches per second.
        involuntary_switches_per_s: rate(PerS, Lower),
        /// Thread migrations from another CPU to this one, per second.
        migrations_per_s: rate(PerS, Lower),
        /// Cross-calls (inter-processor interrupts) per second.
        cross_calls_per_s: rate(PerS, Lower),
        /// Failed first attempts to take a kernel mutex, per second (Solaris smtx).
        mutex_spins_per_s: rate(PerS, Lower),
        /// Failed first attempts to take a kernel reader-writer lock, per second (Solaris srw).
        rwlock_spins_per_s: rate(PerS, Lower),
        /// System calls per second.
        syscalls_per_s: rate(PerS, Neither),
        /// Minor page faults per second: served without I/O.
        minor_faults_per_s: rate(PerS, Neither),
        /// Major page faults per second: needed I/O.
        major_faults_per_s: rate(PerS, Lower),
        /// Mean clock frequency over the interval.
        freq_hz: gauge(Hertz, Higher),
    }
}

table! {
    /// CPU time per second of elapsed time, accounted in several ways at once. One row per CPU, and one with `cpu` NULL for all CPUs together. Where the accounts differ, one of them is wrong about what ran.
    cpu_time [cpu] is (Cpu, Series, Passing) {
        /// CPU number; NULL in the row for all CPUs together.
        cpu: label(),
        /// User code, including guests, by tick sampling.
        usr_cpus: rate(CpuSecondsPerS, Neither),
        /// Kernel on behalf of tasks, by tick sampling.
        sys_cpus: rate(CpuSecondsPerS, Lower),
        /// Hardware interrupts and softirqs, by tick sampling unless the kernel measures them.
        irq_cpus: rate(CpuSecondsPerS, Lower),
        /// Time the hypervisor ran something else while this virtual CPU was runnable; measured by the hypervisor.
        steal_cpus: rate(CpuSecondsPerS, Lower),
        /// Idle, with or without disk I/O awaited. Kernels that stop the tick of an idle CPU measure it; then usr, sys, irq, steal and idle need not add up to the elapsed time: the missing time was used but not sampled.
        idle_cpus: rate(CpuSecondsPerS, Neither),
        /// Time in idle states of the CPU, as measured by cpuidle; excludes wake-up latency.
        idle_states_cpus: rate(CpuSecondsPerS, Neither),
        /// Run time of tasks, as measured by the scheduler in nanoseconds. If it exceeds usr plus sys, work hides from tick sampling.
        run_cpus: rate(CpuSecondsPerS, Neither),
        /// Source of `run_cpus`: `cpuacct` (the root cgroup), `schedstat` (/proc/schedstat, updated when a task leaves the CPU), `processes` (sum over processes, including exited ones), `switches` (every context switch, observed in the kernel).
        run_by: label(),
        /// Timer ticks while a task had the CPU, between context switches: tick sampling, reconstructed from switches. NULL where switches are not observed.
        tick_cpus: rate(CpuSecondsPerS, Neither),
        /// Observed accounting of usr and sys: `tick` (sampled by the timer), `exact` (measured at each change), `mixed` (some CPUs of each).
        accounting: label(),
    }
}

table! {
    /// Idle states of CPUs (C-states), all CPUs together, as the kernel's cpuidle counts them. In a virtual machine those of the host are not seen.
    cpu_idle [state] is (Cpu, Series, Lasting) {
        /// Name of the state, such as `C6`; `POLL` waits in a loop.
        state: label(),
        /// Share of the time of all CPUs that they were in it.
        residency: gauge(Percent, Neither),
        /// Entries per second.
        entries_per_s: rate(PerS, Neither),
        /// Mean time of a stay; NULL when there was none.
        mean_us: gauge(Microseconds, Neither),
        /// Longest time that leaving it takes, by its driver: what a request pays that wakes the CPU up.
        exit_latency_us: gauge(Microseconds, Lower),
        /// Share of entries that ended before the state was worth it: a shallower one would have been right.
        too_deep: gauge(Percent, Lower),
        /// Share of entries that lasted long enough for a deeper state.
        too_shallow: gauge(Percent, Lower),
    }
}

table! {
    /// Scheduler of one host: runnable and blocked tasks, context switches, run-queue latency.
    sched [] is (Cpu, Series, Lasting) {
        /// Run queue: tasks running or waiting for a CPU at the end of the interval. Above the number of CPUs, tasks wait.
        runnable: gauge(Count, Lower),
        /// Tasks in uninterruptible sleep, usually waiting for disk I/O.
        blocked: gauge(Count, Lower),
        /// Tasks swapped out and runnable (older systems' third queue).
        swapped: gauge(Count, Lower),
        /// Number of tasks (threads).
        tasks: gauge(Count, Neither),
        /// Load average over 1 minute: runnable plus blocked tasks, exponentially damped.
        load1: gauge(None, Lower),
        /// Load average over 5 minutes.
        load5: gauge(None, Lower),
        /// Load average over 15 minutes.
        load15: gauge(None, Lower),
        /// Context switches per second over all CPUs. If far above the request rate, look for lock contention or wake-up storms.
        context_switches_per_s: rate(PerS, Neither),
        /// Processes and threads created per second.
        forks_per_s: rate(PerS, Neither),
        /// Interrupts per second over all CPUs.
        intr_per_s: rate(PerS, Neither),
        /// System calls per second over all CPUs.
        syscalls_per_s: rate(PerS, Neither),
        /// Run-queue latency: seconds per second that runnable tasks waited for a CPU, over all CPUs (schedstat).
        run_queue_wait: rate(CpuSecondsPerS, Lower),
        /// CPUs online at the end of the interval.
        cpus_online: gauge(Count, Neither),
    }
}

table! {
    /// Pressure stall information (PSI): share of time in which tasks stalled for lack of a resource.
    pressure [resource] is (Cpu, Series, Lasting) {
        /// `cpu`, `memory`, `io` or `irq`.
        resource: label(),
        /// Share of the interval in which at least one task was stalled.
        some: percent(Lower),
        /// Share of the interval in which all non-idle tasks were stalled at once: no progress.
        full: percent(Lower),
    }
}
