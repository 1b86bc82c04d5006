-- title: Statements read tables in full
-- severity: warning
-- section: database
-- message: {what}; {each} read {rows} rows on average.
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
--
-- yes: db database=shop commits_per_s=30 rollbacks_per_s=0 rows_returned_per_s=25000000 rows_fetched_per_s=300 *10
-- no: db database=shop commits_per_s=3000 rollbacks_per_s=0 rows_returned_per_s=2500000 rows_fetched_per_s=300 *10
--
-- no: db database=shop commits_per_s=30 rollbacks_per_s=0 rows_returned_per_s=25000000 rows_fetched_per_s=24900000 *10
--
-- no: db server=localhost database=shop commits_per_s=30 rows_returned_per_s=25000000 rows_fetched_per_s=300 *10
-- no: db_table server=localhost database=shop relation=public.orders full_scans_per_s=3 full_scan_rows_per_s=300000 live_rows=100000 dt=10 *6
-- What MySQL and MariaDB count without any statistics: scans of the first table of a statement, small tables too, and rows read
-- by any means. Only where both are much, a tenth of the statements and ten thousand rows each, do they mean whole large tables.
-- PostgreSQL counts rows that scans and indexes return and those that were fetched by an index: what is over was read in scans. A million a second,
-- and ten thousand for each transaction; where its tables were observed, they show it.
WITH counted AS (
    SELECT run, host, server, wmean(full_scans_per_s, dt) AS scans, wmean(statements_per_s, dt) AS statements,
        wmean(rows_returned_per_s, dt) AS rows_read, sum(dt) AS seen_s
    FROM db
    WHERE db.database IS NULL AND full_scans_per_s IS NOT NULL
    GROUP BY run, host, server
), returned AS (
    SELECT run, host, server, wmean(commits_per_s + coalesce(rollbacks_per_s, 0), dt) AS transactions, wmean(rows_returned_per_s - rows_fetched_per_s, dt) AS rows_read, sum(dt) AS seen_s
    FROM db
    WHERE db.database IS NOT NULL AND rows_fetched_per_s IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM db_table o WHERE o.run = db.run AND o.host = db.host AND o.server IS NOT DISTINCT FROM db.server)
    GROUP BY run, host, server
)
SELECT run, host, server, least(100, 100 * scans / statements) AS share, scans, CAST(round(rows_read / statements) AS BIGINT) AS rows, rows_read,
    CAST(round(least(100, 100 * scans / statements)) AS VARCHAR) || '% of the statements of ' || coalesce(server, 'the server') || ' (' || CAST(round(scans, 1) AS VARCHAR) || '/s) scanned a table in full' AS what, 'a statement' AS each
FROM counted
WHERE scans >= 1 AND scans >= 0.1 * statements AND rows_read >= 10000 * statements AND seen_s >= 5
UNION ALL
SELECT run, host, server, NULL, NULL, CAST(round(rows_read / transactions) AS BIGINT), rows_read,
    'Scans of ' || coalesce(server, 'the server') || ' read ' || CAST(CAST(round(rows_read) AS BIGINT) AS VARCHAR) || ' rows a second that no index looked up' AS what, 'a transaction' AS each
FROM returned
WHERE rows_read >= 1e6 AND rows_read >= 10000 * transactions AND transactions > 0 AND seen_s >= 5
ORDER BY rows_read DESC, run, host, server
