-- title: How much memory was left?
-- about: Available memory (obtainable without swapping), used swap, and dirty page cache.
-- section: memory
-- chart: line
-- x: t
-- y: available_bytes, swap_used_bytes, dirty_bytes
-- unit: B
-- order: 20
-- live: mem: available_bytes, free_bytes, cached_bytes, anon_bytes, dirty_bytes
SELECT run, host, t, dt, available_bytes, swap_used_bytes, dirty_bytes
FROM mem
ORDER BY run, host, t
