-- title: A cgroup is slowed down above memory.high
-- severity: warning
-- section: memory
-- message: {of_group} was above its bound of memory ({high_bytes:B}) {hits:time|times}, and {stalled:%} of the time some task of it waited for memory.
-- advice: Above memory.high each allocation frees memory first, and the kernel makes the task sleep when that does not suffice: no process is killed, all of the group become slow. Raise memory.high (MemoryHigh of a systemd unit), or see what the memory is for.
-- ask: cgroup-usage
-- explains: memory-pressure, memory-stalls, direct-reclaim, swapping, programs-wait-disk, major-faults, io-pressure, sys-time-high, cache-too-small
-- impact: stalled of the time
-- yes: cgroup cgroup=/app memory_high_hits=900 memory_high_bytes=500000000 memory_some=40 *20
-- no: cgroup cgroup=/app memory_high_hits=900 memory_high_bytes=500000000 memory_some=1 *20
--
-- no: cgroup cgroup=/app memory_high_hits=0 memory_high_bytes=500000000 memory_some=40 *20
--
-- no: cgroup cgroup=/app memory_some=40 *20
-- The count alone is often page cache that is dropped at no cost: a twentieth of the time is what somebody feels.
SELECT
    run, host, cgroup,
    coalesce('container ' || max(container) || coalesce(' (pod ' || coalesce(max(namespace) || '/', '') || max(pod) || ')', ''), cgroup) AS of_group,
    CAST(sum(memory_high_hits) AS BIGINT) AS hits, max(memory_high_bytes) AS high_bytes, wmean(memory_some, dt) AS stalled
FROM cgroup
GROUP BY run, host, cgroup
HAVING sum(memory_high_hits) >= 10 AND wmean(memory_some, dt) >= 5 AND sum(dt) >= 3
ORDER BY stalled DESC, run, host, cgroup
