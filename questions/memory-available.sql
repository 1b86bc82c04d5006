-- title: How much memory was left?
-- about: Memory that programs can still have without swapping, beside what is in swap and what waits to be written to disk.
-- section: memory
-- chart: line
-- x: t
-- y: available_bytes, swap_used_bytes, dirty_bytes
-- unit: B
-- order: 20
SELECT run, host, t, dt, available_bytes, swap_used_bytes, dirty_bytes
FROM mem
ORDER BY run, host, t
