-- title: Allocations stall in direct reclaim
-- severity: warning
-- section: memory
-- says: For {bad_s:s} of {seen_s:s} tasks reclaimed memory themselves, scanning at most {worst:/s} pages.
-- advice: Background reclaim cannot keep up with the allocation rate. Check vm.min_free_kbytes, cgroup memory limits, and what fills the page cache.
-- ask: memory-pressure
-- impact: bad_s / seen_s of the time
-- yes: vm scan_direct_pages_per_s=5000 *30
--
-- yes: vm direct_reclaims_per_s=40 *30
-- no: vm scan_direct_pages_per_s=0 scan_kswapd_pages_per_s=9000 *30
--
-- no: vm scan_direct_pages_per_s=5000 *1
-- no: vm scan_direct_pages_per_s=0 *29 @1
-- Any direct reclaim is a stall of the task that does it; a tenth of the run, so that one burst is none.
WITH moments AS (
    SELECT run, host, dt, coalesce(scan_direct_pages_per_s, direct_reclaims_per_s) AS direct FROM vm
)
SELECT run, host, sum(CASE WHEN direct >= 1 THEN dt ELSE 0 END) AS bad_s, sum(dt) AS seen_s, max(direct) AS worst
FROM moments
GROUP BY run, host
HAVING sum(CASE WHEN direct >= 1 THEN dt ELSE 0 END) >= greatest(3, 0.1 * sum(dt))
ORDER BY bad_s DESC, run, host
