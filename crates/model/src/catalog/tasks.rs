//! Processes, threads and control groups.

table! {
    /// One process over the interval. A process that was idle throughout has no row.
    process [pid, comm, user] {
        /// Process id; NULL in the row of the processes that ended unseen.
        pid: id(),
        /// Name of the program, up to 15 characters, as the kernel keeps it; `(exited)` for those that ended in the interval.
        comm: label(),
        /// User it runs as.
        user: label(),
        /// Process id of the parent.
        ppid: id(),
        /// CPU time in user code, in percent of one CPU: several threads can use more than 100 %.
        usr: percent(Lower),
        /// CPU time in the kernel, in percent of one CPU.
        sys: percent(Lower),
        /// CPU time running a virtual machine's code, in percent of one CPU.
        guest: percent(Neither),
        /// User and kernel CPU time together, in percent of one CPU, as exactly as the kernel knows it.
        cpu: percent(Lower),
        /// Time that its threads were runnable but had no CPU, in percent of one CPU.
        run_queue_wait: percent(Lower),
        /// Share of time it waited for block I/O (delay accounting).
        io_wait: percent(Lower),
        /// CPU time of children that ended in the interval, in percent of one CPU.
        children_cpu: percent(Lower),
        /// Resident memory.
        rss_bytes: gauge(Bytes, Lower),
        /// Virtual memory.
        vsz_bytes: gauge(Bytes, Neither),
        /// Page faults per second without I/O.
        minor_faults_per_s: rate(PerS, Neither),
        /// Page faults per second with I/O.
        major_faults_per_s: rate(PerS, Lower),
        /// Bytes per second that it caused to be read from storage.
        read_bytes_per_s: rate(BytesPerS, Neither),
        /// Bytes per second that it caused to be written to storage.
        write_bytes_per_s: rate(BytesPerS, Neither),
        /// Bytes per second it had caused to be written and then made needless, by truncating or deleting the file.
        cancelled_write_bytes_per_s: rate(BytesPerS, Neither),
        /// Bytes per second it read through system calls, cache hits included.
        read_call_bytes_per_s: rate(BytesPerS, Neither),
        /// Bytes per second it wrote through system calls.
        write_call_bytes_per_s: rate(BytesPerS, Neither),
        /// Context switches per second because it waited for something.
        voluntary_switches_per_s: rate(PerS, Neither),
        /// Context switches per second because its time was up or another came first.
        involuntary_switches_per_s: rate(PerS, Lower),
        /// Threads it has.
        threads: gauge(Count, Neither),
        /// File descriptors it has open.
        fds: gauge(Count, Neither),
        /// Last CPU of its main thread.
        last_cpu: id(),
        /// State of its main thread: R, S, D, T, Z and so on; X when it ended in the interval.
        state: label(),
        /// Scheduling priority as the kernel counts it.
        priority: gauge(None, Neither),
        /// Command line, as far as it was read.
        command: label(),
        /// Seconds from its start to the end of the interval, or to its own end.
        lived_s: gauge(Seconds, Neither),
        /// How its CPU time is known: `clock`, `schedstat` and `record` (of its end) count nanoseconds, `rusage` microseconds, `ticks` samples.
        cpu_measured: label(),
    }
}

table! {
    /// One thread over the interval. A thread that was idle throughout has no row.
    thread [pid, tid, comm, user] {
        /// Number of the process.
        pid: id(),
        /// Number of the thread.
        tid: id(),
        /// Name of the thread.
        comm: label(),
        /// User it runs as.
        user: label(),
        /// CPU time in user code, in percent of one CPU.
        usr: percent(Lower),
        /// CPU time in the kernel, in percent of one CPU.
        sys: percent(Lower),
        /// CPU time running a virtual machine's code, in percent of one CPU.
        guest: percent(Neither),
        /// User and kernel CPU time together, in percent of one CPU.
        cpu: percent(Lower),
        /// Time runnable without a CPU, in percent of one CPU.
        run_queue_wait: percent(Lower),
        /// Share of time in page faults on text pages (Solaris TFL).
        text_fault: percent(Lower),
        /// Share of time in page faults on data pages (Solaris DFL).
        data_fault: percent(Lower),
        /// Share of time waiting for user locks (Solaris LCK).
        lock_wait: percent(Lower),
        /// Share of time asleep.
        sleep: percent(Neither),
        /// Context switches per second because it waited for something.
        voluntary_switches_per_s: rate(PerS, Neither),
        /// Context switches per second forced on it.
        involuntary_switches_per_s: rate(PerS, Lower),
        /// System calls per second.
        syscalls_per_s: rate(PerS, Neither),
        /// Last CPU it ran on.
        last_cpu: id(),
        /// State: R, S, D, T, Z and so on.
        state: label(),
        /// How its CPU time is known: `clock`, `schedstat` and `record` (of its end) count nanoseconds, `rusage` microseconds, `ticks` samples.
        cpu_measured: label(),
    }
}

table! {
    /// One control group (version 2) over the interval.
    cgroup [cgroup] {
        /// Path below the root of the hierarchy; `/` is the root.
        cgroup: label(),
        /// CPU time, in percent of one CPU.
        cpu: percent(Lower),
        /// CPU time in user code, in percent of one CPU.
        usr: percent(Lower),
        /// CPU time in the kernel, in percent of one CPU.
        sys: percent(Lower),
        /// Share of enforcement periods in which its CPU quota was used up.
        throttled: percent(Lower),
        /// Time its tasks were held back by the quota, in percent of one CPU.
        throttled_time: percent(Lower),
        /// CPU quota, in percent of one CPU; NULL without a limit.
        cpu_limit: percent(Neither),
        /// Memory charged to it.
        memory_bytes: gauge(Bytes, Lower),
        /// Memory limit; NULL without one.
        memory_limit_bytes: gauge(Bytes, Neither),
        /// Anonymous memory.
        anon_bytes: gauge(Bytes, Neither),
        /// Page cache it owns.
        file_bytes: gauge(Bytes, Neither),
        /// Kernel memory.
        kernel_bytes: gauge(Bytes, Neither),
        /// Swap space it uses.
        swap_bytes: gauge(Bytes, Lower),
        /// Page faults per second with I/O.
        major_faults_per_s: rate(PerS, Lower),
        /// Times in the interval that it ran into its memory limit.
        memory_limit_hits: count(Lower),
        /// Processes killed in it for want of memory, in the interval.
        oom_kills: count(Lower),
        /// Bytes read from storage per second.
        read_bytes_per_s: rate(BytesPerS, Neither),
        /// Bytes written to storage per second.
        write_bytes_per_s: rate(BytesPerS, Neither),
        /// Reads from storage per second.
        reads_per_s: rate(PerS, Neither),
        /// Writes to storage per second.
        writes_per_s: rate(PerS, Neither),
        /// Tasks in it.
        tasks: gauge(Count, Neither),
        /// Share of time in which a task of it was stalled for CPU.
        cpu_some: percent(Lower),
        /// Share of time in which all its tasks were stalled for CPU.
        cpu_full: percent(Lower),
        /// Share of time in which a task of it was stalled for memory.
        memory_some: percent(Lower),
        /// Share of time in which all its tasks were stalled for memory.
        memory_full: percent(Lower),
        /// Share of time in which a task of it was stalled for I/O.
        io_some: percent(Lower),
        /// Share of time in which all its tasks were stalled for I/O.
        io_full: percent(Lower),
    }
}
