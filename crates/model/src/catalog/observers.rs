//! What observers (eBPF, tracers, profilers) see.

table! {
    /// System calls of one program over the interval.
    syscall [comm, pid, syscall] {
        /// Name of the program.
        comm: label(),
        /// Process id; NULL where programs are added up.
        pid: id(),
        /// Name of the system call.
        syscall: label(),
        /// Calls in the interval.
        calls: count(Neither),
        /// Calls that returned an error.
        errors: count(Lower),
        /// Elapsed time in the call, all calls together.
        elapsed_s: gauge(Seconds, Lower),
        /// CPU time in the call, all calls together.
        cpu_s: gauge(Seconds, Lower),
    }
}

table! {
    /// Contention for, or holding of, one lock from one place over the interval.
    lock [comm, pid, event, lock, caller] {
        /// Name of the program.
        comm: label(),
        /// Process id; NULL for the kernel.
        pid: id(),
        /// What was measured: `mutex block`, `mutex spin`, `mutex hold`, `rwlock read block` and so on.
        event: label(),
        /// Name or address of the lock.
        lock: label(),
        /// Function that took it.
        caller: label(),
        /// Events in the interval.
        events: count(Lower),
        /// Mean time of one event.
        mean_us: gauge(Microseconds, Lower),
        /// Time of all events together.
        total_s: gauge(Seconds, Lower),
        /// Share of all events of this kind.
        share: percent(Lower),
    }
}

table! {
    /// Interrupts, and the threads that they held up. Times are each interrupt's own: what interrupted it is not in it. Rows without a driver say how long the process ran.
    pin [cpu, driver, class, handler, after, comm, pid] {
        /// CPU on which it happened.
        cpu: label(),
        /// Driver or soft interrupt that ran, or a processor's own interrupt, by its name in /proc/interrupts or /proc/softirqs. NULL in the row of what the process ran.
        driver: label(),
        /// `hard`, `soft` or `self` (a soft interrupt that the thread caused itself).
        class: label(),
        /// Function that handled it; NULL where that was not asked for.
        handler: label(),
        /// Interrupt that a soft interrupt followed at once; NULL where that was not asked for.
        after: label(),
        /// Program that was held up; NULL where nobody was (the CPU was idle) and where programs are added up.
        comm: label(),
        /// Process that was held up.
        pid: id(),
        /// Interruptions in the interval.
        events: count(Lower),
        /// Time taken from the thread; where nobody was held up, time of the interrupt.
        pinned_s: gauge(Seconds, Lower),
        /// Time the thread then waited on the run queue; without a driver, after it lost the CPU otherwise.
        run_queue_wait_s: gauge(Seconds, Lower),
        /// Time the process ran on that CPU, interrupts taken out; only in rows without a driver.
        run_s: gauge(Seconds, Neither),
    }
}

table! {
    /// Reads and writes of one file or file system, by how they were made.
    io_pattern [mount, file, comm, pid, op, pattern] {
        /// File system.
        mount: label(),
        /// File; NULL where files are added up.
        file: label(),
        /// Name of the program.
        comm: label(),
        /// Number of the process.
        pid: id(),
        /// `read`, `write`, `lookup`, `create`, `remove`, `attr`, `readdir` or `sync`.
        op: label(),
        /// `sequential`, `random`, `page` (through a mapping), `direct` past the page cache (`direct sequential`, `direct random`);
        /// NULL of what neither reads nor writes.
        pattern: label(),
        /// Operations per second.
        ops_per_s: rate(PerS, Neither),
        /// Bytes per second.
        transfer_bytes_per_s: rate(BytesPerS, Neither),
        /// Mean time of an operation.
        mean_us: gauge(Microseconds, Lower),
        /// Mean size of an operation.
        size_bytes: gauge(Bytes, Neither),
    }
}

table! {
    /// Queries of one digest as seen inside the server, over the interval.
    query [server, digest, preempted] {
        /// Server process.
        server: label(),
        /// Identifier of the normalised statement; NULL where all are added up.
        digest: label(),
        /// `yes` for those whose thread was pushed off the CPU, `no` for the others, NULL for all.
        preempted: label(),
        /// The normalised statement.
        statement: label(),
        /// Queries in the interval.
        queries: count(Higher),
        /// Mean time from request read to response written.
        mean_us: gauge(Microseconds, Lower),
        /// Longest query.
        max_us: gauge(Microseconds, Lower),
        /// Mean CPU time.
        cpu_us: gauge(Microseconds, Lower),
        /// Mean time waiting for a CPU.
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
    /// Who pushed a server's threads off the CPU while they executed queries, over the interval.
    preemption [server, by_comm, by_pid] {
        /// Server process.
        server: label(),
        /// Name of the program that ran instead.
        by_comm: label(),
        /// Its process; NULL where programs of one name are added up.
        by_pid: id(),
        /// Times that a thread was pushed off.
        preemptions: count(Lower),
        /// Time until the threads were on a CPU again, all together.
        waited_s: gauge(Seconds, Lower),
    }
}

table! {
    /// Sampled stacks, folded.
    stack [comm, pid, event, stack] {
        /// Name of the program.
        comm: label(),
        /// Process id; NULL where programs are added up.
        pid: id(),
        /// Frames from the outermost to the innermost, separated by `;`.
        stack: label(),
        /// `on-cpu`, `off-cpu` or the event that was sampled.
        event: label(),
        /// Samples in the interval.
        samples: count(Neither),
        /// Time the samples stand for.
        time_s: gauge(Seconds, Neither),
    }
}
