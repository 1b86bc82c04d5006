-- title: How much CPU did each session of a database use?
-- about: Sessions whose process runs on this host, with CPU and run queue of that process over the time that both were seen. PostgreSQL has a process for each session; a server with threads is in the list of threads instead.
-- section: database
-- chart: table
-- order: 17
-- param: n = 30, how many sessions to show
-- param: session = '', only this session
WITH sessions_seen AS (
    SELECT run, host, server, session, pid, any_value(application) AS application, any_value(d.user) AS user_name, any_value(d.database) AS database_name,
        sum(sessions) FILTER (in_db_time) AS active, mode(digest) AS digest, min(t) AS first_t, max(t) AS last_t
    FROM db_session_share d
    WHERE pid IS NOT NULL AND is_client AND $session IN ('', CAST(session AS VARCHAR))
    GROUP BY run, host, server, session, pid
), alone AS (
    SELECT * FROM sessions_seen QUALIFY count(*) OVER (PARTITION BY run, host, pid) = 1
)
SELECT s.run, s.host, s.server, s.session, s.user_name, s.application, s.database_name, s.active,
    sum(p.cpu / 100 * p.dt) AS cpu_s, sum(p.run_queue_wait / 100 * p.dt) AS run_queue_wait_s, sum(p.io_wait / 100 * p.dt) AS io_wait_s,
    sum(p.read_bytes_per_s * p.dt) AS read_bytes, sum(p.write_bytes_per_s * p.dt) AS write_bytes,
    any_value(x.statement) AS statement, any_value(s.digest) AS digest
FROM alone s
JOIN process p ON p.run = s.run AND p.host = s.host AND p.pid = s.pid
LEFT JOIN db_text x ON x.run = s.run AND x.host = s.host AND x.digest = s.digest
GROUP BY s.run, s.host, s.server, s.session, s.user_name, s.application, s.database_name, s.active
ORDER BY s.run, s.host, cpu_s DESC NULLS LAST, s.session
LIMIT $n
