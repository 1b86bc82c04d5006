//! Processes, threads and control groups.

table! {
    /// One process over the interval. A process that was idle throughout has no row. What it read and wrote is its own: the kernel adds that
    /// of ended children to their parent's, which is taken off again; it is NULL where a process with several threads waited for children,
    /// as it is unknown then. What ended processes read and wrote behind their last row is in the row `(exited)`.
    process [pid, comm, user] is (Process, Series, Passing) {
        /// Process ID; NULL in the rows for processes that exited unobserved: together those of one name, user and role.
        pid: id().of_one_run(),
        /// Command name, up to 15 characters; `(exited)` for processes that exited in the interval and left no exit record.
        comm: label(),
        /// User it runs as.
        user: label(),
        /// Process ID of the parent.
        ppid: id().of_one_run(),
        /// Container in which it runs, as its runtime's files on the host name it; NULL where it runs in none, or that is unknown.
        container: label(),
        /// Pod of that container.
        pod: label(),
        /// Namespace of that pod.
        namespace: label(),
        /// Image of that container.
        image: label(),
        /// CPU time in user code, in percent of one CPU; several threads can exceed 100 %.
        usr: percent(Lower).beyond_100(),
        /// CPU time in the kernel, in percent of one CPU.
        sys: percent(Lower).beyond_100(),
        /// CPU time running a guest, in percent of one CPU.
        guest: percent(Neither).beyond_100(),
        /// Total CPU time, in percent of one CPU, as exact as the kernel measures it.
        cpu: percent(Lower).beyond_100(),
        /// Run-queue latency: time that its threads were runnable without a CPU, in percent of one CPU.
        run_queue_wait: percent(Lower).beyond_100(),
        /// Share of time waiting for block I/O (delay accounting).
        io_wait: percent(Lower).beyond_100(),
        /// CPU time of children that exited in the interval, in percent of one CPU.
        children_cpu: percent(Lower).beyond_100(),
        /// Resident memory.
        rss_bytes: gauge(Bytes, Lower),
        /// Virtual memory.
        vsz_bytes: gauge(Bytes, Neither),
        /// Minor page faults per second.
        minor_faults_per_s: rate(PerS, Neither),
        /// Major page faults per second.
        major_faults_per_s: rate(PerS, Lower),
        /// Bytes per second that it caused to be read from storage.
        read_bytes_per_s: rate(BytesPerS, Neither),
        /// Bytes per second that it caused to be written to storage.
        write_bytes_per_s: rate(BytesPerS, Neither),
        /// Cancelled writes: bytes per second that truncating or deleting a file made unnecessary to write.
        cancelled_write_bytes_per_s: rate(BytesPerS, Neither),
        /// Bytes per second it read through system calls, cache hits included.
        read_call_bytes_per_s: rate(BytesPerS, Neither),
        /// Bytes per second it wrote through system calls.
        write_call_bytes_per_s: rate(BytesPerS, Neither),
        /// System calls per second that read.
        read_calls_per_s: rate(PerS, Neither),
        /// System calls per second that wrote.
        write_calls_per_s: rate(PerS, Neither),
        /// Voluntary context switches per second.
        voluntary_switches_per_s: rate(PerS, Neither),
        /// Involuntary context switches per second (preemptions).
        involuntary_switches_per_s: rate(PerS, Lower),
        /// Number of threads.
        threads: gauge(Count, Neither),
        /// Open file descriptors.
        fds: gauge(Count, Neither),
        /// Most file descriptors that it may have open (RLIMIT_NOFILE, the soft limit); NULL without a limit.
        fd_limit: gauge(Count, Neither),
        /// Number of CPUs on which its threads may run (affinity, cpuset): of the thread that may use most.
        cpus_allowed: gauge(Count, Neither),
        /// Last CPU of its main thread.
        last_cpu: id(),
        /// State of its main thread: R, S, D, T, Z and so on; X if it exited in the interval.
        state: label(),
        /// Scheduling priority as the kernel counts it.
        priority: gauge(None, Neither),
        /// Command line, possibly truncated.
        command: label(),
        /// Elapsed time from its start to the end of the interval, or to its exit.
        lived_s: gauge(Seconds, Neither),
        /// Source of its CPU time: `clock`, `schedstat` and `record` (exit record) count nanoseconds, `rusage` microseconds, `ticks` samples.
        cpu_measured: label(),
        /// `command` for processes that the recorder started, and their descendants.
        role: label(),
    }
}

table! {
    /// One thread over the interval. A thread that was idle throughout has no row.
    thread [pid, tid, comm, user] is (Process, Series, Passing) {
        /// Process ID.
        pid: id().of_one_run(),
        /// Thread ID; the main thread has that of the process.
        tid: id().of_one_run(),
        /// Name of the thread.
        comm: label(),
        /// User it runs as.
        user: label(),
        /// CPU time in user code, in percent of one CPU.
        usr: percent(Lower).beyond_100(),
        /// CPU time in the kernel, in percent of one CPU.
        sys: percent(Lower).beyond_100(),
        /// CPU time running a guest, in percent of one CPU.
        guest: percent(Neither).beyond_100(),
        /// Total CPU time, in percent of one CPU.
        cpu: percent(Lower).beyond_100(),
        /// Run-queue latency: time runnable without a CPU, in percent of one CPU.
        run_queue_wait: percent(Lower).beyond_100(),
        /// Share of time in page faults on text pages (Solaris TFL).
        text_fault: percent(Lower),
        /// Share of time in page faults on data pages (Solaris DFL).
        data_fault: percent(Lower),
        /// Share of time waiting for user locks (Solaris LCK).
        lock_wait: percent(Lower),
        /// Share of time asleep.
        sleep: percent(Neither),
        /// Voluntary context switches per second.
        voluntary_switches_per_s: rate(PerS, Neither),
        /// Involuntary context switches per second.
        involuntary_switches_per_s: rate(PerS, Lower),
        /// System calls per second.
        syscalls_per_s: rate(PerS, Neither),
        /// Last CPU it ran on.
        last_cpu: id(),
        /// State: R, S, D, T, Z and so on.
        state: label(),
        /// Source of its CPU time: `clock`, `schedstat` and `record` (exit record) count nanoseconds, `rusage` microseconds, `ticks` samples.
        cpu_measured: label(),
    }
}

table! {
    /// What the threads of one process were at, as one look at the end of the interval shows it. Who idles is at nothing: only threads
    /// that ran in the interval count. Of what the recorder started also those that are held up, and the main thread where no other works,
    /// unless the process is one that its parent does not wait for. A recorded command is looked at more often in its first seconds.
    thread_wait [pid, comm, wait, function] is (Process, Series, Passing) {
        /// Process ID.
        pid: id().of_one_run(),
        /// Command name of the process.
        comm: label(),
        /// What they wait for: `lock` (futex), `file lock`, `disk`, `flush`, `dirty pages`, `memory`, `pipe`, `receive`, `send`, `accept`, `connect`, `name server`, `poll`, `sleep`, `child`, `kernel lock`, `file server` (a file system of another host or in user space), `stopped` (a signal, a debugger, a frozen cgroup), `other`; `run` on a CPU or in its queue.
        wait: label(),
        /// Function of the kernel in which they wait.
        function: label(),
        /// Number of threads.
        threads: gauge(Count, Neither),
        /// Number of those that make progress: each counts by the CPU time that it used lately, as a part of what the thread of its process used that used most; 0 of a thread that only waits.
        progress: gauge(Count, Neither),
        /// Number of those in `lock` that surely wait for a mutex: several at one address, by the system call that mutexes use. The others may wait for a mutex, or on a condition for work.
        mutex: gauge(Count, Neither),
        /// `command` for processes that the recorder started, and their descendants.
        role: label(),
    }
}

table! {
    /// One control group over the interval; of version 1 what all its controllers know.
    cgroup [cgroup] is (Process, Series, Lasting) {
        /// Path below the root of the hierarchy; `/` is the root.
        cgroup: label(),
        /// Container whose group it is or belongs to, as its runtime's files on the host name it; NULL where it is none, or unknown.
        container: label(),
        /// Pod of that container.
        pod: label(),
        /// Namespace of that pod.
        namespace: label(),
        /// Image of that container.
        image: label(),
        /// CPU time, in percent of one CPU.
        cpu: percent(Lower).beyond_100(),
        /// CPU time in user code, in percent of one CPU.
        usr: percent(Lower).beyond_100(),
        /// CPU time in the kernel, in percent of one CPU.
        sys: percent(Lower).beyond_100(),
        /// Throttled share of enforcement periods: its CPU quota was exhausted.
        throttled: percent(Lower),
        /// Time its tasks were throttled by the quota, in percent of one CPU.
        throttled_time: percent(Lower).beyond_100(),
        /// CPU quota, in percent of one CPU; NULL without a limit.
        cpu_limit: percent(Neither).beyond_100(),
        /// Memory charged to it.
        memory_bytes: gauge(Bytes, Lower),
        /// Memory limit; NULL without one.
        memory_limit_bytes: gauge(Bytes, Neither),
        /// Anonymous memory.
        anon_bytes: gauge(Bytes, Neither),
        /// Page cache charged to it.
        file_bytes: gauge(Bytes, Neither),
        /// Kernel memory.
        kernel_bytes: gauge(Bytes, Neither),
        /// Used swap space.
        swap_bytes: gauge(Bytes, Lower),
        /// Major page faults per second.
        major_faults_per_s: rate(PerS, Lower),
        /// Memory limit hits in the interval.
        memory_limit_hits: count(Lower),
        /// Memory from which its tasks are slowed down (memory.high); NULL without such a bound.
        memory_high_bytes: gauge(Bytes, Neither),
        /// Times in the interval that a task was made to free memory, or held up, above memory.high.
        memory_high_hits: count(Lower),
        /// OOM kills in the interval.
        oom_kills: count(Lower),
        /// Bytes read from storage per second.
        read_bytes_per_s: rate(BytesPerS, Neither),
        /// Bytes written to storage per second.
        write_bytes_per_s: rate(BytesPerS, Neither),
        /// Reads from storage per second.
        reads_per_s: rate(PerS, Neither),
        /// Writes to storage per second.
        writes_per_s: rate(PerS, Neither),
        /// Number of tasks.
        tasks: gauge(Count, Neither),
        /// Most tasks that it may have (pids.max); NULL without a limit.
        task_limit: gauge(Count, Neither),
        /// Times in the interval that no task could be made because of the limit.
        task_limit_hits: count(Lower),
        /// Share of time in which some task was stalled for CPU (PSI some).
        cpu_some: percent(Lower),
        /// Share of time in which all its tasks were stalled for CPU (PSI full).
        cpu_full: percent(Lower),
        /// Share of time in which some task was stalled for memory (PSI some).
        memory_some: percent(Lower),
        /// Share of time in which all its tasks were stalled for memory (PSI full).
        memory_full: percent(Lower),
        /// Share of time in which some task was stalled for I/O (PSI some).
        io_some: percent(Lower),
        /// Share of time in which all its tasks were stalled for I/O (PSI full).
        io_full: percent(Lower),
    }
}
