-- title: Statements read tables in full
-- severity: warning
-- section: database
-- says: {share:%} of the statements of {server} ({scans:/s}) scanned a table in full; a statement read {rows} rows on average.
-- advice: An index is missing, or is not used. See which statements run (fenxi ask db-statements-running) and their plans; with performance_schema=ON the server counts rows by statement and by table. Normal for reports.
-- ask: db-statements-running
-- explains: one-cpu-saturated, one-thread-saturated, cpu-pressure, cpu-queue, db-cpu-bound, db-run-queue
-- world: database
-- yes: db server=localhost full_scans_per_s=50 statements_per_s=60 rows_returned_per_s=9000000 *10
-- no: db server=localhost full_scans_per_s=50 statements_per_s=60 rows_returned_per_s=9000 *10
--
-- no: db server=localhost full_scans_per_s=1 statements_per_s=600 rows_returned_per_s=90000000 *10
--
-- no: db server=localhost full_scans_per_s=50 statements_per_s=60 rows_returned_per_s=9000000 *2
--
-- no: db server=localhost statements_per_s=60 rows_returned_per_s=9000000 *10
-- What MySQL and MariaDB count without any statistics: scans of the first table of a statement, small tables too, and rows read
-- by any means. Only where both are much, a tenth of the statements and ten thousand rows each, do they mean whole large tables.
WITH counted AS (
    SELECT run, host, server, wmean(full_scans_per_s, dt) AS scans, wmean(statements_per_s, dt) AS statements,
        wmean(rows_returned_per_s, dt) AS rows_read, sum(dt) AS seen_s
    FROM db
    WHERE db.database IS NULL AND full_scans_per_s IS NOT NULL
    GROUP BY run, host, server
)
SELECT run, host, server, least(100, 100 * scans / statements) AS share, scans, CAST(round(rows_read / statements) AS BIGINT) AS rows
FROM counted
WHERE scans >= 1 AND scans >= 0.1 * statements AND rows_read >= 10000 * statements AND seen_s >= 5
ORDER BY rows_read DESC, run, host, server
