-- title: The planner's statistics are older than most rows
-- severity: warning
-- section: database
-- message: {modified} rows of {relation} ({server}) have changed since it was analyzed, it has {live}; each of {scans:/s} searches of its index {index} reads {entries} entries.
-- advice: The planner does not know these rows and takes the wrong index or join: ANALYZE the table after it was filled, and see why autovacuum does not (autovacuum_analyze_scale_factor, a table that was just loaded, autovacuum = off).
-- ask: db-hot-indexes
-- part: on CPU; run queue; user I/O
-- explains: db-one-statement, db-run-queue, db-cpu-bound, one-cpu-saturated, one-thread-saturated, cpu-pressure, cpu-queue
-- world: database
-- yes: db_table server=localhost database=shop relation=public.purchase modified_since_analyze=60000 live_rows=120000 dt=10 *2
-- yes: db_index server=localhost database=shop relation=public.purchase index_name=purchase_state scans_per_s=50 entries_read_per_s=3000000 dt=10 *2
-- no: db_table server=localhost database=shop relation=public.purchase modified_since_analyze=60000 live_rows=120000 dt=10 *2
-- no: db_index server=localhost database=shop relation=public.purchase index_name=purchase_customer scans_per_s=5000 entries_read_per_s=150000 dt=10 *2
--
-- no: db_table server=localhost database=shop relation=public.purchase modified_since_analyze=6000 live_rows=120000 dt=10 *2
-- no: db_index server=localhost database=shop relation=public.purchase index_name=purchase_state scans_per_s=50 entries_read_per_s=3000000 dt=10 *2
--
-- no: db_table server=localhost database=shop relation=public.purchase live_rows=120000 dt=10 *2
-- no: db_index server=localhost database=shop relation=public.purchase index_name=purchase_state scans_per_s=50 entries_read_per_s=3000000 dt=10 *2
-- Four tenths of the rows, of ten thousand and more, in a table of which an index is searched every second for a thousand entries and more, a
-- twentieth of the table: with right statistics a full scan, or another index, would be cheaper.
WITH tables AS (
    SELECT run, host, server, d.database AS name_of, relation, CAST(max(live_rows) AS BIGINT) AS live, max(modified_since_analyze) AS modified FROM db_table d GROUP BY run, host, server, d.database, relation
), spans AS (
    SELECT run, host, server, sum(dt) AS seen_s FROM (SELECT DISTINCT run, host, server, t, dt FROM db_table) GROUP BY run, host, server
), indexes AS (
    SELECT run, host, server, i.database AS name_of, relation, index_name, sum(scans_per_s * dt) AS scans, sum(entries_read_per_s * dt) AS entries
    FROM db_index i GROUP BY run, host, server, i.database, relation, index_name
)
SELECT t.run, t.host, t.server, t.relation, t.live, CAST(t.modified AS BIGINT) AS modified, i.index_name AS index, i.scans / s.seen_s AS scans, CAST(round(i.entries / i.scans) AS BIGINT) AS entries
FROM tables t
JOIN indexes i ON i.run = t.run AND i.host = t.host AND i.server IS NOT DISTINCT FROM t.server AND i.name_of IS NOT DISTINCT FROM t.name_of AND i.relation = t.relation
JOIN spans s ON s.run = t.run AND s.host = t.host AND s.server IS NOT DISTINCT FROM t.server
WHERE t.modified >= 0.4 * t.live AND t.live >= 10000 AND i.scans >= s.seen_s AND i.entries >= 1000 * i.scans AND i.entries >= 0.05 * t.live * i.scans AND s.seen_s >= 5
ORDER BY i.entries DESC, t.run, t.host, t.server, t.relation
