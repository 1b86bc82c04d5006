-- title: Reserved huge pages are unused
-- severity: warning
-- section: memory
-- message: {unused:B} of reserved huge pages were never used: {share:%} of memory, unavailable to everything else.
-- advice: Reserve fewer (vm.nr_hugepages), or let the program use them: a database needs its setting (huge_pages, large-pages) and permission to lock memory.
-- ask: memory-breakdown
-- yes: mem total_bytes=64e9 huge_total_bytes=32e9 huge_free_bytes=32e9 *30
-- no: mem total_bytes=64e9 huge_total_bytes=32e9 huge_free_bytes=1e9 *30
--
-- no: mem total_bytes=64e9 huge_total_bytes=0 huge_free_bytes=0 *30
-- The minimum that was free over the run, from 5 % of memory on.
SELECT run, host, min(huge_free_bytes) AS unused, 100 * min(huge_free_bytes) / nullif(max(total_bytes), 0) AS share
FROM mem
GROUP BY run, host
HAVING min(huge_free_bytes) >= 0.05 * max(total_bytes)
ORDER BY share DESC, run, host
