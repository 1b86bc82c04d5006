//! Block devices and file systems.

table! {
    /// One block device over the interval.
    disk [device] is (Disk, Series, Lasting) {
        /// Kernel name of the device.
        device: label(),
        /// `disk`, `partition`, `loop`, `ram`, `dm`, `md`, `zram` or `rom`. Sum over `disk` only: parts and stacks repeat its I/O.
        class: label(),
        /// Reads completed per second.
        reads_per_s: rate(PerS, Neither),
        /// Writes completed per second.
        writes_per_s: rate(PerS, Neither),
        /// Discards (trim) completed per second.
        discards_per_s: rate(PerS, Neither),
        /// Flushes completed per second.
        flushes_per_s: rate(PerS, Neither),
        /// Read requests merged with a neighbour before they reached the device, per second.
        reads_merged_per_s: rate(PerS, Neither),
        /// Write requests merged with a neighbour before they reached the device, per second.
        writes_merged_per_s: rate(PerS, Neither),
        /// Discard requests merged, per second.
        discards_merged_per_s: rate(PerS, Neither),
        /// Bytes read per second.
        read_bytes_per_s: rate(BytesPerS, Neither),
        /// Bytes written per second.
        write_bytes_per_s: rate(BytesPerS, Neither),
        /// Bytes discarded per second.
        discard_bytes_per_s: rate(BytesPerS, Neither),
        /// Mean read latency, from arrival in the queue to completion; NULL when nothing was read.
        read_await_ms: gauge(Milliseconds, Lower).mean_of("reads_per_s"),
        /// Mean write latency, from arrival in the queue to completion; NULL when nothing was written.
        write_await_ms: gauge(Milliseconds, Lower).mean_of("writes_per_s"),
        /// Mean discard latency.
        discard_await_ms: gauge(Milliseconds, Lower),
        /// Mean flush latency.
        flush_await_ms: gauge(Milliseconds, Lower),
        /// Mean latency of reads and writes together.
        await_ms: gauge(Milliseconds, Lower),
        /// Mean queueing time of a request in the host, before it reached the device (Solaris wsvc_t, avwait).
        wait_ms: gauge(Milliseconds, Lower),
        /// Mean service time as older tools estimate it (utilisation over throughput); meaningless for parallel devices.
        svctm_ms: gauge(Milliseconds, Lower),
        /// Mean queue depth: requests in flight over the interval.
        queue_depth: gauge(Count, Lower),
        /// Requests in flight at the end of the interval.
        in_flight: gauge(Count, Lower),
        /// Mean number of requests waiting (Solaris wait).
        wait_queue: gauge(Count, Lower),
        /// Mean size of a read.
        read_size_bytes: gauge(Bytes, Neither),
        /// Mean size of a write.
        write_size_bytes: gauge(Bytes, Neither),
        /// Requests of all kinds completed per second, from tools that report only the total (tps).
        transfers_per_s: rate(PerS, Neither),
        /// Bytes transferred per second in both directions, from tools that report only the total.
        transfer_bytes_per_s: rate(BytesPerS, Neither),
        /// Mean size of a request of any kind.
        transfer_size_bytes: gauge(Bytes, Neither),
        /// Utilisation: share of the interval with at least one request in flight. A parallel device at 100 % may not be saturated.
        util: percent(Lower),
        /// Share of the interval with requests waiting (Solaris %w).
        wait_util: percent(Lower),
        /// Errors in the interval.
        errors: count(Lower),
    }
}

table! {
    /// One mounted file system at the end of the interval.
    fs [mount] is (Disk, Series, Lasting) {
        /// Mount point.
        mount: label(),
        /// Mounted device or source.
        device: label(),
        /// File system type.
        fstype: label(),
        /// Size of the file system.
        total_bytes: gauge(Bytes, Neither),
        /// Used space.
        used_bytes: gauge(Bytes, Lower),
        /// Space available to unprivileged users.
        available_bytes: gauge(Bytes, Higher),
        /// Space used as a share of used plus available, as df shows it.
        used: percent(Lower),
        /// Total inodes.
        inodes_total: gauge(Count, Neither),
        /// Free inodes.
        inodes_free: gauge(Count, Higher),
        /// Share of inodes used.
        inodes_used: percent(Lower),
    }
}
