-- What the measured processes waited for, a row for each host that has such: the recorded command and what it
-- started, as far as it was seen at work, and database servers that were observed. Others of the same program are none of it.
-- `cpu` is the share of the time in which
-- they could run that they had no CPU, `disk` and `memory` the share of the looks at their threads in which these waited for a disk,
-- for memory, or for a peer, percent. A disk that is full for somebody else is no reason for what they took: see who uses it in findings.
-- NULL where samples are too few.
WITH measured AS (
    SELECT DISTINCT run, host, pid FROM thread_wait WHERE role = 'command'
    UNION
    SELECT DISTINCT s.run, s.host, p.pid
    FROM db_session s JOIN process p ON p.run = s.run AND p.host = s.host AND p.pid = s.pid
    UNION
    SELECT DISTINCT p.run, p.host, p.pid
    FROM process p WHERE p.comm IN ('postgres', 'mariadbd', 'mysqld') AND EXISTS (SELECT 1 FROM db WHERE db.run = p.run)
), cpu AS (
    SELECT p.run, p.host, 100 * sum(run_queue_wait * dt) / nullif(sum((coalesce(cpu, 0) + coalesce(run_queue_wait, 0)) * dt), 0) AS cpu,
        sum((coalesce(read_bytes_per_s, 0) + coalesce(write_bytes_per_s, 0)) * dt) AS moved_bytes, sum(coalesce(read_bytes_per_s, 0) * dt) AS read_bytes
    FROM process p JOIN measured m ON m.run = p.run AND m.host = p.host AND m.pid = p.pid
    GROUP BY p.run, p.host
), looks AS (
    SELECT w.run, w.host, count(DISTINCT w.t) AS looks, 100 * coalesce(sum(threads * dt) FILTER (wait IN ('disk', 'flush', 'dirty pages')), 0) / nullif(sum(threads * dt), 0) AS disk,
        100 * coalesce(sum(threads * dt) FILTER (wait = 'memory'), 0) / nullif(sum(threads * dt), 0) AS memory,
        100 * coalesce(sum(threads * dt) FILTER (wait IN ('receive', 'send', 'connect', 'accept', 'poll')), 0) / nullif(sum(threads * dt), 0) AS network
    FROM thread_wait w JOIN measured m ON m.run = w.run AND m.host = w.host AND m.pid = w.pid
    GROUP BY w.run, w.host
)
SELECT c.run, c.host, c.cpu, CASE WHEN looks >= 5 THEN disk END AS disk, CASE WHEN looks >= 5 THEN memory END AS memory,
    CASE WHEN looks >= 5 THEN network END AS network, moved_bytes, read_bytes
FROM cpu c LEFT JOIN looks l ON l.run = c.run AND l.host = c.host
