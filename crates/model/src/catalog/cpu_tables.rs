//! Processors and the scheduler.

table! {
    /// How each processor spent its time. One row per CPU, and one with `cpu` NULL for all of them together.
    cpu [cpu] {
        /// Number of the CPU; NULL in the row that describes all CPUs together.
        cpu: label(),
        /// Share of time in user code at normal priority, guests not included. High usr is work; profile it.
        usr: percent(Neither),
        /// Share of time in user code with a lowered priority (nice above 0).
        nice: percent(Neither),
        /// Share of time in the kernel on behalf of tasks. A usr/sys ratio near one or below asks which system calls.
        sys: percent(Lower),
        /// Share of time idle while a task that last ran here waited for disk I/O. It is idle time, not load.
        iowait: percent(Lower),
        /// Share of time in hardware interrupt handlers.
        irq: percent(Lower),
        /// Share of time in soft interrupts (network receive, timers, block completions).
        softirq: percent(Lower),
        /// Share of time the hypervisor ran something else although this CPU wanted to run.
        steal: percent(Lower),
        /// Share of time running guests of this host's hypervisor.
        guest: percent(Neither),
        /// Share of time running guests with a lowered priority.
        guest_nice: percent(Neither),
        /// Share of time with nothing to run and no disk I/O awaited.
        idle: percent(Neither),
        /// Interrupts handled per second.
        intr_per_s: rate(PerS, Neither),
        /// Interrupts handled as threads per second (Solaris ithr).
        interrupt_threads_per_s: rate(PerS, Neither),
        /// Context switches per second.
        context_switches_per_s: rate(PerS, Neither),
        /// Context switches per second forced on a task that wanted to go on.
        involuntary_switches_per_s: rate(PerS, Lower),
        /// Threads per second that moved here from another CPU.
        migrations_per_s: rate(PerS, Lower),
        /// Cross-calls (inter-processor interrupts) per second.
        cross_calls_per_s: rate(PerS, Lower),
        /// Failed first attempts to take a kernel mutex, per second (Solaris smtx).
        mutex_spins_per_s: rate(PerS, Lower),
        /// Failed first attempts to take a kernel reader-writer lock, per second (Solaris srw).
        rwlock_spins_per_s: rate(PerS, Lower),
        /// System calls per second.
        syscalls_per_s: rate(PerS, Neither),
        /// Page faults per second answered without I/O.
        minor_faults_per_s: rate(PerS, Neither),
        /// Page faults per second that needed I/O.
        major_faults_per_s: rate(PerS, Lower),
        /// Mean clock frequency over the interval.
        freq_hz: gauge(Hertz, Higher),
    }
}

table! {
    /// CPU time per second of elapsed time, accounted in several ways at once. One row per CPU, and one with `cpu` NULL for all of them together. Where the accounts differ, one of them is wrong about what ran.
    cpu_time [cpu] {
        /// Number of the CPU; NULL in the row that describes all CPUs together.
        cpu: label(),
        /// User code, guests included, as the clock tick counts it.
        usr_cpus: rate(CpuSecondsPerS, Neither),
        /// The kernel on behalf of tasks, as the clock tick counts it.
        sys_cpus: rate(CpuSecondsPerS, Lower),
        /// Hardware and soft interrupts, as the clock tick counts them unless the kernel measures them.
        irq_cpus: rate(CpuSecondsPerS, Lower),
        /// Time the hypervisor ran something else although this CPU wanted to run; measured by the hypervisor.
        steal_cpus: rate(CpuSecondsPerS, Lower),
        /// Nothing to run, with or without disk I/O awaited. Kernels that stop the tick of an idle CPU measure it; then usr, sys, irq, steal and idle need not add up to the elapsed time, and what is missing ran unseen by the tick.
        idle_cpus: rate(CpuSecondsPerS, Neither),
        /// Time in idle states of the processor, as cpuidle measures it: the waking from them is not in it.
        idle_states_cpus: rate(CpuSecondsPerS, Neither),
        /// Time that tasks ran, as the scheduler measures it in nanoseconds. More than usr and sys together: work hides from the clock tick.
        run_cpus: rate(CpuSecondsPerS, Neither),
        /// Where `run_cpus` comes from: `cpuacct` (the root control group), `schedstat` (/proc/schedstat, counted when a task leaves the CPU), `processes` (the sum over processes, ended ones included), `switches` (each switch of each CPU, observed in the kernel).
        run_by: label(),
        /// Ticks of the timer that came while a task had the CPU, from one switch to the next: sampling, made again from the switches. NULL where switches are not observed.
        tick_cpus: rate(CpuSecondsPerS, Neither),
        /// How usr and sys come about, as was observed: `tick` (sampled by the timer), `exact` (measured at each change), `mixed` (some CPUs of each).
        accounting: label(),
    }
}

table! {
    /// The scheduler of one host: who could run, who was blocked, how often the CPUs switched.
    sched [] {
        /// Tasks running or waiting for a CPU at the end of the interval. Above the number of CPUs, tasks wait.
        runnable: gauge(Count, Lower),
        /// Tasks in uninterruptible sleep, as a rule waiting for disk I/O.
        blocked: gauge(Count, Lower),
        /// Tasks swapped out and runnable (older systems' third queue).
        swapped: gauge(Count, Lower),
        /// Tasks (threads) that exist.
        tasks: gauge(Count, Neither),
        /// Load average over 1 minute: runnable plus blocked tasks, exponentially damped.
        load1: gauge(None, Lower),
        /// Load average over 5 minutes.
        load5: gauge(None, Lower),
        /// Load average over 15 minutes.
        load15: gauge(None, Lower),
        /// Context switches per second over all CPUs. Far above the rate of requests, look for lock or wake-up storms.
        context_switches_per_s: rate(PerS, Neither),
        /// Processes and threads created per second.
        forks_per_s: rate(PerS, Neither),
        /// Interrupts per second over all CPUs.
        intr_per_s: rate(PerS, Neither),
        /// System calls per second over all CPUs.
        syscalls_per_s: rate(PerS, Neither),
        /// Seconds per second that runnable tasks spent waiting for a CPU, over all CPUs (schedstat).
        run_queue_wait: rate(CpuSecondsPerS, Lower),
        /// CPUs online at the end of the interval.
        cpus_online: gauge(Count, Neither),
    }
}

table! {
    /// Pressure stall information: the share of time in which tasks stood still for want of a resource.
    pressure [resource] {
        /// `cpu`, `memory`, `io` or `irq`.
        resource: label(),
        /// Share of the interval in which at least one task was stalled.
        some: percent(Lower),
        /// Share of the interval in which all non-idle tasks were stalled at once: work stood still.
        full: percent(Lower),
    }
}
