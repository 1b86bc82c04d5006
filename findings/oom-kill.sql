-- title: The OOM killer killed a process
-- severity: critical
-- section: memory
-- message: {kills} for lack of memory in {place}{who}.
-- advice: The run did not do the intended work: repeat it with more memory or a higher limit. The kernel log names the process (fenxi ask log).
-- ask: cgroup-usage
-- yes: vm oom_kills=0 *5
-- yes: vm oom_kills=1 @5
--
-- yes: cgroup cgroup=/app oom_kills=2
--
-- yes: cgroup cgroup=/docker/1 container=web oom_kills=2
--
-- yes: event kind=log subject=kernel message="Out of memory: Killed process 15784 (python3) total-vm:9000000kB, anon-rss:8000000kB"
--
-- yes: event kind=log subject=kernel message="[12345.6] Memory cgroup out of memory: Kill process 77 (java) score 900 or sacrifice child"
-- yes: event kind=log subject=kernel message="[12345.7] Killed process 77 (java) total-vm:9000kB, anon-rss:8000kB"
-- no: event kind=log subject=kernel message="python3 invoked oom-killer: gfp_mask=0x100cca, order=0, oom_score_adj=0"
--
-- no: event kind=log subject=app message="killed process 12 by request of the operator"
--
-- no: vm oom_kills=0 *5
-- no: cgroup cgroup=/app oom_kills=0
-- One is enough. Without a counter, the kernel's log has it, which names the process; it may log one kill twice. A group's parents count it again, so that only the innermost groups are reported, and the
-- host only where no group does.
WITH groups AS (
    SELECT run, host, cgroup, sum(oom_kills) AS kills,
        coalesce('container ' || max(container) || coalesce(' (pod ' || coalesce(max(namespace) || '/', '') || max(pod) || ')', ''), cgroup) AS named
    FROM cgroup WHERE cgroup <> '/' GROUP BY run, host, cgroup HAVING sum(oom_kills) > 0
), hosts AS (
    SELECT run, host, sum(oom_kills) AS kills FROM vm GROUP BY run, host HAVING sum(oom_kills) > 0
), messages AS (
    SELECT run, host, t, regexp_extract(message, '[Kk]ill(ed)? process ([0-9]+)', 2) AS pid, regexp_extract(message, '[Kk]ill(ed)? process [0-9]+,? [^(]*\(([^)]*)\)', 2) AS comm
    FROM event
    WHERE kind = 'log' AND regexp_matches(message, 'ut of memory: [Kk]ill(ed)? process [0-9]+')
), logged AS (
    SELECT run, host, count(DISTINCT pid) AS kills, max(comm) AS comm, max(pid) AS pid FROM messages GROUP BY run, host
), counted AS (
    SELECT run, host, kills, 'the host' AS place, '' AS who FROM hosts h
    WHERE NOT EXISTS (SELECT 1 FROM groups g WHERE g.run = h.run AND g.host = h.host)
    UNION ALL
    SELECT run, host, kills, named, '' FROM groups g
    WHERE NOT EXISTS (SELECT 1 FROM groups i WHERE i.run = g.run AND i.host = g.host AND starts_with(i.cgroup, g.cgroup || '/'))
)
SELECT run, host, CASE WHEN kills = 1 THEN '1 process was killed' ELSE concat(CAST(CAST(kills AS BIGINT) AS VARCHAR), ' processes were killed') END AS kills, place, who, kills AS n
FROM (
    SELECT run, host, kills, place, who FROM counted
    UNION ALL
    SELECT run, host, kills, 'the host', CASE WHEN comm = '' THEN '' ELSE concat(': ', comm, ' (process ', pid, CASE WHEN kills > 1 THEN ') and others' ELSE ')' END) END FROM logged l
    WHERE NOT EXISTS (SELECT 1 FROM counted c WHERE c.run = l.run AND c.host = l.host)
)
ORDER BY n DESC, run, host, place
