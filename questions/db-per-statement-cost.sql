-- title: Which statements do much work for little?
-- about: A point for each statement: rows that it returns or changes per call against blocks (or rows examined) per call. Far above the others are statements that read much to find little: an index may be missing.
-- section: database
-- chart: scatter
-- x: rows_per_call
-- y: work_per_call
-- order: 38
SELECT run, host, rows_per_s / calls_per_s AS rows_per_call,
    coalesce(rows_examined_per_s, coalesce(cache_hits_per_s, 0) + cache_misses_per_s) / calls_per_s AS work_per_call,
    wal_bytes_per_s / calls_per_s AS wal_bytes_per_call, calls_per_s, running, left(statement, 100) AS statement, digest
FROM db_statement_mean
WHERE calls_per_s > 0 AND rows_per_s IS NOT NULL AND digest IS NOT NULL AND digest <> 'fenxi-db'
ORDER BY run, host, running DESC NULLS LAST, digest
LIMIT 1000
