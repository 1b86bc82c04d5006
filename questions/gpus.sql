-- title: How were the GPUs used?
-- about: Means of each GPU and MIG instance. util_pct shows only that something ran; how much of the GPU worked is in sm_active_pct, tensor_active_pct and dram_active_pct, which are shares of cycles: see them with the clock and what held it down. What the driver does not know is empty.
-- section: gpu
-- chart: table
-- order: 10
SELECT run, host, gpu, instance, max(model) AS model, wmean(util, dt) AS util_pct, wmean(sm_active, dt) AS sm_active_pct,
    wmean(tensor_active, dt) AS tensor_active_pct, wmean(dram_active, dt) AS dram_active_pct,
    max(memory_used_bytes) AS max_memory_bytes, max(memory_total_bytes) AS memory_total_bytes,
    wmean(clock_hz, dt) AS clock_hz, max(clock_limit_hz) AS clock_limit_hz,
    wmean(throttled_power, dt) AS held_by_power_pct, wmean(throttled_heat, dt) AS held_by_heat_pct,
    wmean(throttled_brake, dt) AS held_by_brake_pct,
    wmean(power_w, dt) AS power_w, sum(power_w * dt) AS energy_j, max(temperature_c) AS max_temperature_c,
    wmean(pcie_rx_bytes_per_s, dt) AS pcie_rx_bytes_per_s, wmean(pcie_tx_bytes_per_s, dt) AS pcie_tx_bytes_per_s,
    wmean(nvlink_rx_bytes_per_s, dt) AS nvlink_rx_bytes_per_s, wmean(nvlink_tx_bytes_per_s, dt) AS nvlink_tx_bytes_per_s,
    sum(ecc_uncorrected) AS ecc_uncorrected
FROM gpu
GROUP BY run, host, gpu, instance
ORDER BY run, host, gpu, instance NULLS FIRST
