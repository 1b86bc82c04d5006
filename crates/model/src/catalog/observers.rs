//! Data of observers: eBPF, tracers, profilers.

table! {
    /// System calls of one program over the interval.
    syscall [comm, pid, syscall] is (Process, Series, Passing) {
        /// Name of the program.
        comm: label(),
        /// Process ID; NULL if aggregated by program.
        pid: id().of_one_run(),
        /// Name of the system call.
        syscall: label(),
        /// Calls in the interval.
        calls: count(Neither),
        /// Calls that returned an error.
        errors: count(Lower),
        /// Total elapsed time in the call.
        elapsed_s: gauge(Seconds, Lower),
        /// Total CPU time in the call.
        cpu_s: gauge(Seconds, Lower),
    }
}

table! {
    /// Contention or hold time of one lock at one call site over the interval.
    lock [comm, pid, event, lock, caller, stack, holder] is (Process, Series, Passing) {
        /// Name of the program.
        comm: label(),
        /// Process id; NULL for the kernel.
        pid: id().of_one_run(),
        /// Kind of measurement: `mutex block`, `mutex spin`, `mutex hold`, `rwlock read block` and so on; of the kernel's locks `kernel mutex`, `kernel spinlock`, `kernel rwsem read` and so on.
        event: label(),
        /// Name or address of the lock.
        lock: label(),
        /// Function that acquired it.
        caller: label(),
        /// Functions that led there, from the outermost to the caller, separated by `;`; of the kernel's locks only.
        stack: label(),
        /// Program that held the lock when the wait began; NULL where the lock does not record it (spinlocks, readers).
        holder: label(),
        /// Its process ID.
        holder_pid: id().of_one_run(),
        /// Events in the interval.
        events: count(Lower),
        /// Mean time per event.
        mean_us: gauge(Microseconds, Lower),
        /// Maximum time of an event.
        max_us: gauge(Microseconds, Lower).maximum(),
        /// Total time of all events.
        total_s: gauge(Seconds, Lower),
        /// Share of all events of this kind.
        share: percent(Lower),
    }
}

table! {
    /// Interrupts, and the threads whose CPU time they stole. Times are self times, without nested interrupts. Rows without a driver have the run time of the process.
    pin [cpu, driver, class, handler, after, comm, pid] is (Interrupt, Series, Passing) {
        /// CPU of the interrupt.
        cpu: label(),
        /// Driver, softirq or CPU-local interrupt, by its name in /proc/interrupts or /proc/softirqs. NULL in the row with the run time of the process.
        driver: label(),
        /// `hard` (hardware interrupt), `soft` (softirq) or `self` (softirq raised by the thread itself).
        class: label(),
        /// Handler function; NULL if not recorded.
        handler: label(),
        /// Interrupt that the softirq followed immediately; NULL if not recorded.
        after: label(),
        /// Interrupted program; NULL if the CPU was idle, and if aggregated.
        comm: label(),
        /// Interrupted process.
        pid: id().of_one_run(),
        /// Interrupts in the interval.
        events: count(Lower),
        /// CPU time stolen from the thread; on an idle CPU, time of the interrupt.
        pinned_s: gauge(Seconds, Lower),
        /// Run-queue latency of the thread afterwards; without a driver, after other preemptions.
        run_queue_wait_s: gauge(Seconds, Lower),
        /// CPU time of the process on that CPU, excluding interrupts; only in rows without a driver.
        run_s: gauge(Seconds, Neither),
    }
}

table! {
    /// I/O operations on one file or file system, by access pattern.
    io_pattern [mount, file, comm, pid, op, pattern] is (Disk, Series, Passing) {
        /// File system.
        mount: label(),
        /// File; NULL if aggregated by file system.
        file: label(),
        /// Name of the program.
        comm: label(),
        /// Process ID.
        pid: id().of_one_run(),
        /// `read`, `write`, `lookup`, `create`, `remove`, `attr`, `readdir` or `sync`.
        op: label(),
        /// `sequential`, `random`, `page` (memory-mapped), `direct` with O_DIRECT (`direct sequential`, `direct random`);
        /// NULL for operations that neither read nor write.
        pattern: label(),
        /// Operations per second.
        ops_per_s: rate(PerS, Neither),
        /// Bytes per second.
        transfer_bytes_per_s: rate(BytesPerS, Neither),
        /// Mean latency of an operation.
        mean_us: gauge(Microseconds, Lower),
        /// Mean size of an operation.
        size_bytes: gauge(Bytes, Neither),
    }
}

table! {
    /// Requests to one block device of one kind that ended in the interval. How both times are distributed is in `histogram`.
    block_io [device, op] is (Disk, Series, Lasting) {
        /// Device, as in `disk`.
        device: label(),
        /// `read`, `write`, `flush`, `discard` and so on, as the kernel calls it.
        op: label(),
        /// Requests in the interval.
        requests: count(Neither),
        /// Those of them that were in a queue of the kernel first.
        queued: count(Neither),
        /// Mean time in the queue of those that were in one; NULL when none was.
        queue_us: gauge(Microseconds, Lower),
        /// Mean time at the device: from its handing over to its end.
        device_us: gauge(Microseconds, Lower),
    }
}

table! {
    /// Accesses of one process to files through the page cache, in pages. The rows of one interval add up.
    cache_access [comm, pid] is (Memory, Series, Passing) {
        /// Name of the program; NULL of those that are added up.
        comm: label(),
        /// Process ID.
        pid: id().of_one_run(),
        /// Pages that it read (system calls), or faulted on (mapped files).
        accesses: count(Neither),
        /// Accesses to pages that were in the cache: accesses less misses, and at least 0.
        hits: count(Neither),
        /// Pages that its reads and faults brought into the cache, those read ahead of the access included.
        misses: count(Lower),
        /// Pages that its writes added to the cache.
        written: count(Neither),
        /// Pages that left the cache while it ran: reclaimed, truncated or dropped.
        removed: count(Lower),
        /// Share of hits in accesses; NULL without accesses.
        hit_ratio: percent(Higher),
    }
}

table! {
    /// Waits for a CPU of one process's threads: from the moment when a thread can run to that when it does. How the times are distributed is in `histogram`.
    run_queue [cpu, comm, pid] is (Cpu, Series, Passing) {
        /// CPU that the threads came to.
        cpu: label(),
        /// Name of the program.
        comm: label(),
        /// Number of the process.
        pid: id().of_one_run(),
        /// Waits that ended in the interval.
        waits: count(Neither),
        /// Time of all these waits together.
        waited_s: gauge(Seconds, Lower),
        /// Mean time of a wait.
        mean_us: gauge(Microseconds, Lower),
    }
}

table! {
    /// Queries of one digest, observed inside the server, over the interval.
    query [server, digest, preempted] is (Database, Series, Passing) {
        /// Server process.
        server: label(),
        /// Identifier of the normalised statement; NULL if aggregated.
        digest: label(),
        /// `yes` for queries whose thread was preempted, `no` for the others, NULL for all.
        preempted: label(),
        /// The normalised statement.
        statement: label(),
        /// Queries in the interval.
        queries: count(Higher),
        /// Mean latency, from reading the request to writing the response.
        mean_us: gauge(Microseconds, Lower),
        /// Maximum latency.
        max_us: gauge(Microseconds, Lower).maximum(),
        /// Mean CPU time.
        cpu_us: gauge(Microseconds, Lower),
        /// Mean run-queue latency (waiting for a CPU).
        run_queue_us: gauge(Microseconds, Lower),
        /// Mean time waiting for block I/O.
        block_io_us: gauge(Microseconds, Lower),
        /// Mean time waiting for locks.
        lock_us: gauge(Microseconds, Lower),
        /// Mean time waiting for the network.
        network_us: gauge(Microseconds, Lower),
        /// Mean time waiting for anything else.
        other_us: gauge(Microseconds, Lower),
    }
}

table! {
    /// Preemption of a server's threads while they executed queries, by the preempting program, over the interval.
    preemption [server, by_comm, by_pid] is (Database, Series, Passing) {
        /// Server process.
        server: label(),
        /// Name of the preempting program.
        by_comm: label(),
        /// Its process ID; NULL if aggregated by name.
        by_pid: id().of_one_run(),
        /// Preemptions in the interval.
        preemptions: count(Lower),
        /// Total time until the threads were on a CPU again.
        waited_s: gauge(Seconds, Lower),
    }
}

table! {
    /// Sampled stacks, folded.
    stack [comm, pid, event, stack] is (Process, Distribution, Passing) {
        /// Name of the program.
        comm: label(),
        /// Process ID; NULL if aggregated by program.
        pid: id().of_one_run(),
        /// Frames from the outermost to the innermost, separated by `;`.
        stack: label(),
        /// `on-cpu`, `off-cpu` or the event that was sampled.
        event: label(),
        /// Samples in the interval.
        samples: count(Neither),
        /// Time that the samples represent.
        time_s: gauge(Seconds, Neither),
    }
}
