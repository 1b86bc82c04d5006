-- title: Did reads hit the page cache?
-- about: Pages accessed through the page cache and pages brought into it, by program. Many misses beside little free memory: what is read does not fit.
-- section: memory
-- chart: table
-- order: 45
-- live: cache_access: misses
-- param: n = 30, how many programs to show
SELECT run, host, comm, sum(accesses) AS accesses, sum(misses) AS misses,
    100.0 * greatest(sum(accesses) - sum(misses), 0) / nullif(sum(accesses), 0) AS hit_ratio, sum(written) AS written, sum(removed) AS removed
FROM cache_access
GROUP BY run, host, comm
ORDER BY run, misses DESC, accesses DESC, comm
LIMIT $n
