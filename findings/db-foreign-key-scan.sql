-- title: A foreign key has no index
-- severity: warning
-- section: database
-- message: Each of {calls:/s} checks whether rows refer to one that is deleted or changed reads {blocks} blocks on {server}, {share:%} of the time in statements: {statement}.
-- advice: Create an index on the referring columns, which stand behind WHERE: the server does not do it by itself (PostgreSQL). Or delete fewer parents.
-- ask: db-statements
-- part: on CPU; run queue; user I/O
-- impact: share of the statements' time
-- explains: db-full-scans, db-one-statement, db-nested-statements, db-run-queue, db-cpu-bound, one-cpu-saturated, one-thread-saturated, cpu-pressure, cpu-queue
-- world: database
-- yes: db_statement server=localhost digest=a statement="DELETE FROM customer WHERE id = ?" calls_per_s=90 time=0.9 cache_hits_per_s=90000 dt=10 *6
-- yes: db_statement server=localhost digest=b nested=yes statement="SELECT ? FROM ONLY public.purchase x WHERE ? OPERATOR(pg_catalog.=) customer FOR KEY SHARE OF x" calls_per_s=90 time=0.8 cache_hits_per_s=90000 dt=10 *6
--
-- yes: db_statement server=localhost digest=a statement="DELETE FROM customer WHERE id = ?" calls_per_s=90 time=0.9 cache_hits_per_s=90000 dt=10 *6
-- yes: db_statement server=localhost digest=b nested=yes statement="DELETE FROM ONLY \"public\".\"purchase\" WHERE $1 OPERATOR(pg_catalog.=) \"customer\"" calls_per_s=90 time=0.8 cache_hits_per_s=90000 dt=10 *6
-- no: db_statement server=localhost digest=a statement="DELETE FROM customer WHERE id = ?" calls_per_s=900 time=0.9 cache_hits_per_s=9000 dt=10 *6
-- no: db_statement server=localhost digest=b nested=yes statement="SELECT ? FROM ONLY public.purchase x WHERE ? OPERATOR(pg_catalog.=) customer FOR KEY SHARE OF x" calls_per_s=900 time=0.8 cache_hits_per_s=3600 dt=10 *6
--
-- no: db_statement server=localhost digest=a statement="INSERT INTO purchase VALUES (?, ?)" calls_per_s=900 time=0.9 cache_hits_per_s=9000 dt=10 *6
-- no: db_statement server=localhost digest=b nested=yes statement="SELECT ? FROM ONLY public.customer x WHERE id OPERATOR(pg_catalog.=) ? FOR KEY SHARE OF x" calls_per_s=900 time=0.8 cache_hits_per_s=900000 dt=10 *6
-- What the server itself asks of the referring table has the value before its operator; the check of a new row, which finds a parent by its
-- key, has it behind. By an index a check takes some blocks: a hundred are a scan. A tenth of the statements' time.
WITH totals AS (
    SELECT run, host, server, sum(running) FILTER (in_total) AS total FROM db_statement_mean GROUP BY run, host, server
)
SELECT s.run, s.host, s.server, s.calls_per_s AS calls, CAST(round((s.cache_hits_per_s + coalesce(s.cache_misses_per_s, 0)) / s.calls_per_s) AS BIGINT) AS blocks,
    least(100, 100 * s.running / nullif(t.total, 0)) AS share, left(s.statement, 140) AS statement
FROM db_statement_mean s JOIN totals t ON t.run = s.run AND t.host = s.host AND t.server IS NOT DISTINCT FROM s.server
WHERE NOT s.in_total AND regexp_matches(s.statement, ' FROM ONLY .* WHERE [$?0-9]+ OPERATOR') AND s.calls_per_s > 0
    AND s.cache_hits_per_s + coalesce(s.cache_misses_per_s, 0) >= 100 * s.calls_per_s AND s.running >= 0.1 * t.total AND s.running >= 0.02 AND s.seen_s >= 5
ORDER BY s.running DESC, s.run, s.host, s.server
