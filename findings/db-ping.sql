-- title: Many statements only test the connection
-- severity: warning
-- section: database
-- message: {share:%} of the statements of {server} ({rate:/s}) do no work, such as {statement}.
-- advice: A connection pool that tests each connection before use sends one for each statement of the user: a round trip lost each time. Test idle connections from time to time instead; let drivers set session settings once.
-- ask: db-pings
-- impact: share of the statements
-- part: on CPU; run queue; round trips; idle in transaction; client, network; waiting for the driver; driver on CPU
-- explains: db-run-queue, cpu-pressure, cpu-queue, db-unexplained-cpu
-- world: database
-- yes: db_statement server=localhost digest=a statement="SELECT ?" calls_per_s=500 time=0.01 dt=10 *6
-- yes: db_statement server=localhost digest=b statement="SELECT a FROM b WHERE c = ?" calls_per_s=500 time=0.2 dt=10 *6
--
-- yes: db_statement server=localhost digest=a statement="select ? from dual" calls_per_s=50 time=0.01 dt=10 *6
-- yes: db_statement server=localhost digest=c statement="SET NAMES utf8mb4" calls_per_s=50 time=0.01 dt=10 *6
-- yes: db_statement server=localhost digest=b statement="SELECT a FROM b WHERE c = ?" calls_per_s=500 time=0.2 dt=10 *6
-- no: db_statement server=localhost digest=a statement="SELECT ?" calls_per_s=5 time=0.01 dt=10 *6
-- no: db_statement server=localhost digest=b statement="SELECT a FROM b WHERE c = ?" calls_per_s=500 time=0.2 dt=10 *6
--
-- no: db_statement server=localhost digest=a statement="SELECT ? + a FROM b" calls_per_s=500 time=0.01 dt=10 *6
-- no: db_statement server=localhost digest=b statement="SELECT a FROM b WHERE c = ?" calls_per_s=500 time=0.2 dt=10 *6
--
-- no: db_statement server=localhost digest=fenxi-db statement=fenxi-db calls_per_s=20 time=0.01 dt=10 *6
-- A tenth of the calls, and ten a second; information below three tenths. Named as db-pings names them.
WITH calls AS (
    SELECT run, host, server, statement, calls_per_s, seen_s, sum(calls_per_s) OVER (PARTITION BY run, host, server) AS total
    FROM db_statement_mean
    WHERE in_total AND coalesce(digest, '') <> 'fenxi-db'
), pings AS (
    SELECT run, host, server, sum(calls_per_s) AS rate, any_value(total) AS total, list(left(trim(statement), 60) ORDER BY calls_per_s DESC, statement)[1] AS statement, max(seen_s) AS seen_s
    FROM calls
    WHERE is_ping(statement)
    GROUP BY run, host, server
)
SELECT run, host, server, 100 * rate / total AS share, rate, statement, CASE WHEN rate >= 0.3 * total THEN 'warning' ELSE 'info' END AS severity
FROM pings
WHERE rate >= 10 AND rate >= 0.1 * total AND seen_s >= 5
ORDER BY rate DESC, run, host, server
