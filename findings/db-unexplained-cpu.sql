-- title: Statements explain less than half of a database server's CPU
-- severity: info
-- section: database
-- message: The sessions of {server} used {cpu:CPU}; all statements together account for {counted:CPU} at most.
-- advice: The rest is parsing, planning, the protocol and connecting: use prepared statements, fewer round trips and a pool; profile the server (fenxi trace profile). Statements that the server does not count, such as prepared ones of MariaDB, are in it too.
-- ask: db-unexplained
-- world: database
-- yes: db_wait server=localhost activity=cpu wait_event=cpu kind=client measured=os time=1.3 *60
-- yes: db_statement server=localhost digest=a statement="SELECT a" calls_per_s=9000 time=0.24 dt=10 *6
-- no: db_wait server=localhost activity=cpu wait_event=cpu kind=client measured=os time=1.3 *60
-- no: db_statement server=localhost digest=a statement="SELECT a" calls_per_s=9000 time=1.1 dt=10 *6
--
-- no: db_wait server=localhost activity=cpu wait_event=cpu kind=client measured=os time=0.3 *60
-- no: db_statement server=localhost digest=a statement="SELECT a" calls_per_s=9000 time=0.04 dt=10 *6
--
-- no: db_wait server=localhost activity=cpu wait_event=cpu kind=client measured=os time=1.3 *60
-- Half, and half a CPU; only where statements are counted at all. Measured with pgbench -S: 18 %.
WITH used AS (
    SELECT run, host, server, sum(sessions) AS cpu, max(seen_s) AS seen_s
    FROM db_best_wait
    WHERE activity = 'cpu' AND kind = 'client' AND measured IN ('os', 'exact')
    GROUP BY run, host, server
), statements AS (
    SELECT run, host, server, sum(running) AS counted FROM db_statement_mean WHERE in_total GROUP BY run, host, server
)
SELECT u.run, u.host, u.server, u.cpu, s.counted
FROM used u
JOIN statements s ON s.run = u.run AND s.host = u.host AND s.server IS NOT DISTINCT FROM u.server
WHERE s.counted < 0.5 * u.cpu AND u.cpu - s.counted >= 0.5 AND u.seen_s >= 5
ORDER BY u.cpu - s.counted DESC, u.run, u.host, u.server
