-- title: Rows are read and skipped by a deep OFFSET
-- severity: warning
-- section: database
-- message: On {server} {read} {what} are read for each row that is returned, {share:%} of the time in statements, by {statement}.
-- advice: The server reads all rows before the page and throws them away, so that each further page costs more: go on from the last key that was seen (WHERE id > ? ORDER BY id LIMIT ?), which an index finds at once.
-- ask: db-per-statement-cost
-- part: on CPU; run queue; user I/O
-- impact: share of the statements' time
-- explains: db-rows-examined, db-one-statement, db-full-scans, db-scans, db-run-queue, db-cpu-bound, one-cpu-saturated, one-thread-saturated, cpu-pressure, cpu-queue
-- world: database
-- yes: db_statement server=localhost digest=a statement="SELECT id, note FROM entry ORDER BY id LIMIT ? OFFSET ?" calls_per_s=80 rows_per_s=1600 cache_hits_per_s=96000 time=0.8 dt=10 *2
--
-- yes: db_statement server=localhost digest=a statement="SELECT id, note FROM entry ORDER BY id LIMIT ? , ?" calls_per_s=80 rows_per_s=1600 rows_examined_per_s=4800000 time=0.8 dt=10 *2
-- no: db_statement server=localhost digest=a statement="SELECT id, note FROM entry ORDER BY id LIMIT ? OFFSET ?" calls_per_s=800 rows_per_s=16000 cache_hits_per_s=32000 time=0.8 dt=10 *2
--
-- no: db_statement server=localhost digest=a statement="SELECT id FROM offsets WHERE v = ?" calls_per_s=80 rows_per_s=80 cache_hits_per_s=96000 time=0.8 dt=10 *2
--
-- no: db_statement server=localhost digest=a statement="SELECT id, note FROM entry ORDER BY id LIMIT ? OFFSET ?" calls_per_s=80 rows_per_s=1600 cache_hits_per_s=96000 time=0.02 dt=10 *2
-- no: db_statement server=localhost digest=b statement="SELECT count(*) FROM entry" calls_per_s=80 rows_per_s=80 time=0.8 dt=10 *2
-- Twenty blocks, or two hundred rows, for one that is returned; a fifth of the statements' time.
WITH totals AS (
    SELECT run, host, server, sum(running) FILTER (in_total) AS total FROM db_statement_mean GROUP BY run, host, server
), paged AS (
    SELECT *, greatest(rows_per_s, calls_per_s) AS returned, cache_hits_per_s + coalesce(cache_misses_per_s, 0) AS blocks
    FROM db_statement_mean WHERE in_total AND digest IS NOT NULL AND regexp_matches(statement, '(?i)\b(OFFSET\s+[$?:0-9]|LIMIT\s+[$?:0-9]+\s*,)')
)
SELECT p.run, p.host, p.server, CAST(round(coalesce(p.rows_examined_per_s, p.blocks) / p.returned) AS BIGINT) AS read, CASE WHEN p.rows_examined_per_s IS NULL THEN 'blocks' ELSE 'rows' END AS what,
    100 * p.running / t.total AS share, left(p.statement, 120) AS statement
FROM paged p JOIN totals t ON t.run = p.run AND t.host = p.host AND t.server IS NOT DISTINCT FROM p.server
WHERE (p.rows_examined_per_s >= 200 * p.returned OR p.rows_examined_per_s IS NULL AND p.blocks >= 20 * p.returned) AND p.returned > 0 AND p.running >= 0.2 * t.total AND p.running >= 0.1 AND p.seen_s >= 5
ORDER BY p.running DESC, p.run, p.host, p.server
