//! GPUs, and who uses them.

table! {
    /// One GPU over the interval, and one row for each MIG instance of it. NULL is what its driver does not know, also where it answers 0 for that.
    gpu [gpu, instance] is (Gpu, Series, Lasting) {
        /// Number of the GPU in the order of NVIDIA's tools, else the name of its card, such as `card0`.
        gpu: label(),
        /// Number of the MIG instance on it; NULL in the row of the whole GPU.
        instance: label(),
        /// Name of the product.
        model: label(),
        /// Share of time in which something ran on it: one thread of one kernel is enough. How much of the GPU worked is in `sm_active`.
        util: percent(Neither),
        /// Share of cycles in which a multiprocessor had work, mean of all multiprocessors.
        sm_active: percent(Neither),
        /// Share of the threads that all multiprocessors can hold that were there.
        sm_occupancy: percent(Neither),
        /// Share of cycles in which tensor units worked.
        tensor_active: percent(Neither),
        /// Share of the bandwidth of its memory that was used.
        dram_active: percent(Neither),
        /// Share of time in which its memory was read or written.
        memory_util: percent(Neither),
        /// Share of time in which its encoder or decoder of video worked, of the busier one.
        video_util: percent(Neither),
        /// Bytes received from the host per second.
        pcie_rx_bytes_per_s: rate(BytesPerS, Neither),
        /// Bytes sent to the host per second.
        pcie_tx_bytes_per_s: rate(BytesPerS, Neither),
        /// Bytes per second that its PCIe link can carry in each direction, as it is trained now: an idle link is slower.
        pcie_limit_bytes_per_s: rate(BytesPerS, Neither),
        /// Bytes received over NVLink per second, all links.
        nvlink_rx_bytes_per_s: rate(BytesPerS, Neither),
        /// Bytes sent over NVLink per second, all links.
        nvlink_tx_bytes_per_s: rate(BytesPerS, Neither),
        /// Clock of its multiprocessors at the end of the interval.
        clock_hz: gauge(Hertz, Neither),
        /// Highest clock that they can have.
        clock_limit_hz: gauge(Hertz, Neither),
        /// Clock of its memory.
        memory_clock_hz: gauge(Hertz, Neither),
        /// Share of the interval in which clocks were held down to stay within the power limit; 0 or 100, as it was at the end, where no such time is counted.
        throttled_power: percent(Lower),
        /// The same for heat.
        throttled_heat: percent(Lower),
        /// The same on demand of the power supply (power brake).
        throttled_brake: percent(Lower),
        /// The same to keep in step with another GPU of its group.
        throttled_sync: percent(Lower),
        /// The same because somebody set lower clocks.
        throttled_setting: percent(Neither),
        /// Power: mean of the interval where its energy is counted, else at the end. Energy is sum(power_w*dt).
        power_w: gauge(Watts, Neither),
        /// Power limit in force.
        power_limit_w: gauge(Watts, Neither),
        /// Temperature of the chip.
        temperature_c: gauge(Celsius, Neither),
        /// Temperature of its memory.
        memory_temperature_c: gauge(Celsius, Neither),
        /// Temperature of the chip at which clocks are reduced.
        slowdown_c: gauge(Celsius, Neither),
        /// Used memory of the GPU.
        memory_used_bytes: gauge(Bytes, Lower),
        /// Memory of the GPU.
        memory_total_bytes: gauge(Bytes, Neither),
        /// Memory errors in the interval that ECC corrected.
        ecc_corrected: count(Lower),
        /// Memory errors in the interval that it could not correct.
        ecc_uncorrected: count(Lower),
        /// Packets in the interval that were sent over PCIe once more.
        pcie_replays: count(Lower),
    }
}

table! {
    /// One process on one GPU or MIG instance over the interval.
    gpu_process [gpu, instance, pid, comm] is (Gpu, Series, Passing) {
        /// The GPU, as in the table `gpu`.
        gpu: label(),
        /// The MIG instance, as there.
        instance: label(),
        /// Process ID.
        pid: id().of_one_run(),
        /// Command name of the process.
        comm: label(),
        /// What it has the GPU for: `compute`, `graphics` or `both`; NULL if unknown.
        kind: label(),
        /// Share of time in which a kernel of the process ran on it, of the engine for computing or graphics that it used most.
        util: percent(Neither),
        /// Share of time in which it read or wrote memory of the GPU.
        memory_util: percent(Neither),
        /// Share of time in which it used engines that copy.
        copy_util: percent(Neither),
        /// Share of time in which it used encoders and decoders of video, of the kind that it used most.
        video_util: percent(Neither),
        /// Memory of the GPU that it holds; of one without its own memory, what it holds of the host's for the GPU.
        memory_bytes: gauge(Bytes, Lower),
    }
}
