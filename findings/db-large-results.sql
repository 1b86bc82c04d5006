-- title: A statement returns very many rows each time
-- severity: warning
-- section: database
-- message: Each of {calls:/s} executions on {server} returns {rows} rows, {share:%} of the time in statements: {statement}.
-- advice: Making, sending and reading them is the cost, in the server and in the client: ask for the columns and rows that are used (LIMIT, WHERE, sums in the database), by pages, or through a cursor. Meant for an export.
-- ask: db-statements
-- part: on CPU; client, network; waiting for the driver; driver on CPU; idle in transaction; run queue
-- impact: share of the statements' time
-- explains: db-one-statement, db-client-slow, db-full-scans, db-scans, db-run-queue, load-driver-saturated, cpu-pressure, cpu-queue
-- world: database
-- yes: db_statement server=localhost digest=a statement="SELECT id, note FROM entry WHERE id >= ? LIMIT ?" calls_per_s=80 rows_per_s=800000 time=0.8 dt=10 *2
-- no: db_statement server=localhost digest=a statement="SELECT id, note FROM entry WHERE id >= ? LIMIT ?" calls_per_s=800 rows_per_s=80000 time=0.8 dt=10 *2
--
-- no: db_statement server=localhost digest=a statement="COPY entry TO STDOUT" calls_per_s=8 rows_per_s=800000 time=0.8 dt=10 *2
-- no: db_statement server=localhost digest=b statement="SELECT id, note FROM entry WHERE id >= ? LIMIT ?" calls_per_s=0.2 rows_per_s=200000 time=0.8 dt=10 *2
--
-- no: db_statement server=localhost digest=a statement="INSERT INTO copy SELECT * FROM entry" calls_per_s=8 rows_per_s=800000 time=0.8 dt=10 *2
--
-- no: db_statement server=localhost digest=a statement="SELECT id, note FROM entry WHERE id >= ? LIMIT ?" calls_per_s=80 rows_per_s=160000 time=0.02 dt=10 *2
-- no: db_statement server=localhost digest=b statement="SELECT count(*) FROM entry" calls_per_s=80 rows_per_s=80 time=0.8 dt=10 *2
-- A thousand rows, once a second and more, in a fifth of the statements' time; too many to read on a screen.
WITH totals AS (
    SELECT run, host, server, sum(running) FILTER (in_total) AS total FROM db_statement_mean GROUP BY run, host, server
)
SELECT s.run, s.host, s.server, s.calls_per_s AS calls, CAST(round(s.rows_per_s / s.calls_per_s) AS BIGINT) AS rows, 100 * s.running / t.total AS share, left(s.statement, 120) AS statement
FROM db_statement_mean s JOIN totals t ON t.run = s.run AND t.host = s.host AND t.server IS NOT DISTINCT FROM s.server
WHERE s.in_total AND s.digest IS NOT NULL AND s.calls_per_s >= 1 AND s.rows_per_s >= 1000 * s.calls_per_s AND s.running >= 0.2 * t.total AND s.running >= 0.1
    AND regexp_matches(upper(trim(s.statement)), '^(SELECT|WITH|TABLE|VALUES)') AND s.seen_s >= 5
ORDER BY s.rows_per_s DESC, s.run, s.host, s.server
