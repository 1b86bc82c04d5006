-- title: A large table is read in full again and again
-- severity: warning
-- section: database
-- message: {relation} of {server} with {live} rows was scanned in full {scans:/s}, {share:%} of its rows each time.
-- advice: An index is missing, or the planner does not use it (a function around the column, old statistics, a low limit): find the statement with fenxi ask db-statements-by -p by=blocks. Normal for reports.
-- ask: db-full-scans
-- explains: one-cpu-saturated, one-thread-saturated, cpu-pressure, cpu-queue, db-cpu-bound, db-run-queue, db-one-statement
-- world: database
-- yes: db_table server=localhost database=shop relation=public.orders full_scans_per_s=3 full_scan_rows_per_s=300000 live_rows=100000 dt=10 *6
-- no: db_table server=localhost database=shop relation=public.kinds full_scans_per_s=300 full_scan_rows_per_s=3000 live_rows=10 dt=10 *6
--
-- no: db_table server=localhost database=shop relation=public.orders full_scans_per_s=3 full_scan_rows_per_s=3000 live_rows=100000 dt=10 *6
--
-- no: db_table server=localhost database=shop relation=public.orders full_scans_per_s=0.05 full_scan_rows_per_s=5000 live_rows=100000 dt=10 *6
--
-- no: db server=localhost database=shop commits_per_s=600 *60
-- no: db_table server=localhost database=shop relation=public.orders full_scans_per_s=1.5 full_scan_rows_per_s=450000 live_rows=300000 dt=10 *6
--
-- yes: db server=localhost database=shop commits_per_s=30 *60
-- yes: db_table server=localhost database=shop relation=public.orders full_scans_per_s=1.5 full_scan_rows_per_s=450000 live_rows=300000 dt=10 *6
-- Once a second, ten thousand rows, of which nine tenths are read: a scan that ends early (LIMIT, EXISTS) is none. A hundredth of the transactions at least, where these are known:
-- fewer are the few long statements of a report, whose parallel workers count as separate scans.
WITH spans AS (
    SELECT run, host, server, sum(dt) AS seen_s FROM (SELECT DISTINCT run, host, server, t, dt FROM db_table) GROUP BY run, host, server
), scanned AS (
    SELECT d.run, d.host, d.server, d.relation, steady(sum(full_scans_per_s * dt)) AS scans, steady(sum(full_scan_rows_per_s * dt)) AS rows_read, CAST(min(live_rows) AS BIGINT) AS live, any_value(seen_s) AS seen_s
    FROM db_table d
    JOIN spans s ON s.run = d.run AND s.host = d.host AND s.server IS NOT DISTINCT FROM d.server
    GROUP BY d.run, d.host, d.server, d.database, d.relation
)
SELECT run, host, server, relation, live, scans / seen_s AS scans, least(100, 100 * rows_read / scans / live) AS share
FROM scanned s
WHERE NOT EXISTS (SELECT 1 FROM db_server d WHERE d.run = s.run AND d.host = s.host AND d.server = s.server AND d.transactions_per_s > 100 * s.scans / s.seen_s)
    AND scans >= s.seen_s AND live >= 10000 AND rows_read >= 0.9 * scans * live AND s.seen_s >= 5
ORDER BY rows_read DESC, run, host, server, relation
