-- title: What did the process of a session do?
-- about: CPU, run queue and block I/O of the process or thread that served the session, where it ran on this host; without a session, of the busiest one.
-- section: database
-- chart: line
-- x: t
-- y: cpu, run_queue_wait, io_wait
-- series: session
-- unit: %
-- order: 18
-- param: session = '', number of the session
-- param: server = '', only of this server
WITH seen AS (
    SELECT run, host, server, session, pid, tid, sum(sessions) FILTER (in_db_time) AS active
    FROM db_session_share
    WHERE is_client AND pid IS NOT NULL AND $session IN ('', CAST(session AS VARCHAR)) AND $server IN ('', server)
    GROUP BY run, host, server, session, pid, tid
), chosen AS (
    SELECT * FROM seen QUALIFY row_number() OVER (PARTITION BY run, host ORDER BY active DESC NULLS LAST, session) = 1
), shared AS (
    -- A server with threads has one process for all: its sessions are told apart by their threads only.
    SELECT run, host, pid FROM db_session GROUP BY run, host, pid HAVING count(DISTINCT tid) > 1
), times AS (
    SELECT p.run, p.host, p.t, p.dt, c.session, p.cpu, p.run_queue_wait, p.io_wait
    FROM chosen c
    JOIN process p ON p.run = c.run AND p.host = c.host AND p.pid = c.pid
    WHERE NOT EXISTS (SELECT 1 FROM shared s WHERE s.run = c.run AND s.host = c.host AND s.pid = c.pid)
    UNION ALL
    SELECT p.run, p.host, p.t, p.dt, c.session, p.cpu, p.run_queue_wait, NULL
    FROM chosen c
    JOIN thread p ON p.run = c.run AND p.host = c.host AND p.pid = c.pid AND p.tid = c.tid
    JOIN shared s ON s.run = c.run AND s.host = c.host AND s.pid = c.pid
)
SELECT run, host, t, dt, concat('session ', session) AS session, cpu, run_queue_wait, io_wait
FROM times
ORDER BY run, host, session, t
