-- title: The OOM killer killed a process
-- severity: critical
-- section: memory
-- says: {kills} processes were killed for lack of memory in {place}.
-- advice: The run did not do the intended work: repeat it with more memory or a higher limit. The kernel log names the process.
-- ask: cgroup-usage
-- yes: vm oom_kills=0 *5
-- yes: vm oom_kills=1 @5
--
-- yes: cgroup cgroup=/app oom_kills=2
-- no: vm oom_kills=0 *5
-- no: cgroup cgroup=/app oom_kills=0
-- One is enough. A group's parents count it again, so that only the innermost groups are reported, and the
-- host only where no group does.
WITH groups AS (
    SELECT run, host, cgroup, sum(oom_kills) AS kills FROM cgroup WHERE cgroup <> '/' GROUP BY run, host, cgroup HAVING sum(oom_kills) > 0
), hosts AS (
    SELECT run, host, sum(oom_kills) AS kills FROM vm GROUP BY run, host HAVING sum(oom_kills) > 0
)
SELECT run, host, CAST(kills AS BIGINT) AS kills, 'the host' AS place
FROM hosts h
WHERE NOT EXISTS (SELECT 1 FROM groups g WHERE g.run = h.run AND g.host = h.host)
UNION ALL
SELECT run, host, CAST(kills AS BIGINT), cgroup
FROM groups g
WHERE NOT EXISTS (SELECT 1 FROM groups i WHERE i.run = g.run AND i.host = g.host AND starts_with(i.cgroup, g.cgroup || '/'))
ORDER BY kills DESC, run, host, place
