-- title: A cgroup hits its memory limit
-- severity: warning
-- section: memory
-- message: {of_group} hit its memory limit {hits:time|times} (limit {limit_bytes:B}, maximum use {most:B}).
-- advice: At the limit every allocation reclaims first, usually from the group's own page cache. Raise memory.max, or check that page cache fills it, which may be harmless.
-- ask: cgroup-usage
-- explains: cache-too-small, programs-wait-disk, major-faults, memory-stalls, sys-time-high, io-pressure, memory-pressure
-- yes: cgroup cgroup=/app memory_limit_hits=20 memory_bytes=1e9 memory_limit_bytes=1e9 *30
-- no: cgroup cgroup=/app memory_limit_hits=0 memory_bytes=1e8 memory_limit_bytes=1e9 *30
-- A few hits may be one large read; ten are a habit.
SELECT
    run, host, cgroup,
    coalesce('container ' || max(container) || coalesce(' (pod ' || coalesce(max(namespace) || '/', '') || max(pod) || ')', ''), cgroup) AS of_group,
    CAST(sum(memory_limit_hits) AS BIGINT) AS hits, max(memory_limit_bytes) AS limit_bytes, max(memory_bytes) AS most
FROM cgroup
GROUP BY run, host, cgroup
HAVING sum(memory_limit_hits) >= 10 AND max(memory_limit_bytes) IS NOT NULL
ORDER BY hits DESC, run, host, cgroup
