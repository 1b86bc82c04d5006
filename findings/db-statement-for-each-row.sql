-- title: A statement is executed for each row
-- severity: warning
-- section: database
-- message: Each transaction executes {times} times, for {rows} row each time: {statement}.
-- advice: Ask for all rows at once (a join, IN with a list, an array), insert several rows a statement, or fetch many rows from a cursor: each statement costs a round trip, and its own work in the driver and in the server. Object mappers do so where related objects are loaded one by one (N+1).
-- ask: db-statements
-- part: on CPU; run queue; round trips; idle in transaction; client, network; waiting for the driver; driver on CPU
-- impact: share of the statements
-- explains: db-client-slow, db-unexplained-cpu, db-idle-in-transaction, db-run-queue, db-cpu-bound, load-driver-saturated, sys-time-high, cpu-pressure, cpu-queue
-- world: database
-- yes: load generator=g clients=4 transactions_per_s=100 requests_per_s=4100 latency_mean_ms=9 *20
-- yes: db_statement server=localhost digest=a statement="SELECT count(*) FROM line WHERE purchase = ?" calls_per_s=100 rows_per_s=100 time=0.02 dt=10 *2
-- yes: db_statement server=localhost digest=b statement="SELECT note FROM line WHERE id = ?" calls_per_s=4000 rows_per_s=4000 time=0.2 dt=10 *2
--
-- yes: db server=localhost database=shop commits_per_s=50 *20
-- yes: db_statement server=localhost digest=a statement=BEGIN calls_per_s=50 rows_per_s=0 time=0 dt=10 *2
-- yes: db_statement server=localhost digest=b statement="FETCH ? FROM lines" calls_per_s=5000 rows_per_s=5000 time=0.2 dt=10 *2
-- no: load generator=g clients=4 transactions_per_s=100 requests_per_s=2000 latency_mean_ms=9 *20
-- no: db_statement server=localhost digest=a statement="UPDATE line SET n = ? WHERE id = ?" calls_per_s=100 rows_per_s=100 time=0.02 dt=10 *2
-- no: db_statement server=localhost digest=b statement="SELECT note FROM line WHERE id = ?" calls_per_s=1000 rows_per_s=1000 time=0.2 dt=10 *2
--
-- no: db server=localhost database=shop commits_per_s=4100 *20
-- no: db_statement server=localhost digest=a statement="SELECT count(*) FROM line WHERE purchase = ?" calls_per_s=100 rows_per_s=100 time=0.02 dt=10 *2
-- no: db_statement server=localhost digest=b statement="SELECT note FROM line WHERE id = ?" calls_per_s=4000 rows_per_s=4000 time=0.2 dt=10 *2
--
-- no: db server=localhost database=shop commits_per_s=0.1 *20
-- no: db_statement server=localhost digest=b statement="SELECT note FROM line WHERE id = ?" calls_per_s=40 rows_per_s=40 time=0.2 dt=10 *2
--
-- no: load generator=g clients=4 transactions_per_s=100 requests_per_s=4100 latency_mean_ms=9 *20
-- no: db_statement server=localhost digest=b statement="SELECT note FROM line WHERE id > ?" calls_per_s=4000 rows_per_s=400000 time=0.2 dt=10 *2
-- Twenty times in a transaction, for at most a row and a half, a hundred times a second and half of all statements: OLTP tests have ten
-- look-ups in one. Transactions are those that the driver reports, or else the server's commits: where each statement commits by itself, they
-- are as many as the statements, and nothing is reported.
WITH transactions AS (
    SELECT run, host, sum(transactions_per_s * dt) / sum(dt) AS rate FROM load WHERE operation IS NULL AND transactions_per_s > 0 GROUP BY run, host
), statements AS (
    SELECT s.*, sum(calls_per_s) OVER (PARTITION BY s.run, s.host, s.server) AS all_calls FROM db_statement_mean s WHERE in_total AND coalesce(digest, '') <> 'fenxi-db'
)
SELECT s.run, s.host, CAST(round(s.calls_per_s / coalesce(t.rate, d.commits_per_s)) AS BIGINT) AS times, greatest(0, round(s.rows_per_s / s.calls_per_s, 1)) AS rows, left(s.statement, 120) AS statement,
    100 * s.calls_per_s / s.all_calls AS share
FROM statements s
LEFT JOIN transactions t ON t.run = s.run AND t.host = s.host
LEFT JOIN db_server d ON d.run = s.run AND d.host = s.host AND d.server IS NOT DISTINCT FROM s.server
WHERE s.calls_per_s >= 100 AND s.calls_per_s >= 20 * coalesce(t.rate, d.commits_per_s) AND coalesce(t.rate, d.commits_per_s) >= 1
    AND s.rows_per_s <= 1.5 * s.calls_per_s AND s.calls_per_s >= 0.5 * s.all_calls AND s.seen_s >= 5
    AND NOT regexp_matches(upper(trim(s.statement)), '^(BEGIN|COMMIT|ROLLBACK|SET|START|SAVEPOINT|RELEASE)')
ORDER BY s.calls_per_s DESC, s.run, s.host
