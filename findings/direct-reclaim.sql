-- title: Allocations stall in direct reclaim
-- severity: warning
-- section: memory
-- message: For {bad_s:s} of {seen_s:s} tasks reclaimed memory themselves, scanning at most {worst:/s} pages.
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
-- Where the recorder started a command, or observed a database, that waited for memory or a disk hardly ever, it is what others had: a fact.
WITH moments AS (
    SELECT run, host, dt, coalesce(scan_direct_pages_per_s, direct_reclaims_per_s) AS direct FROM vm
)
SELECT d.run, d.host, sum(CASE WHEN direct >= 1 THEN dt ELSE 0 END) AS bad_s, sum(dt) AS seen_s, max(direct) AS worst,
    CASE WHEN any_value(m.disk + m.memory) < 5 THEN 'info' ELSE 'warning' END AS severity
FROM moments d LEFT JOIN measured_wait m ON m.run = d.run AND m.host = d.host
GROUP BY d.run, d.host
HAVING sum(CASE WHEN direct >= 1 THEN dt ELSE 0 END) >= greatest(3, 0.1 * sum(dt))
ORDER BY bad_s DESC, d.run, d.host
