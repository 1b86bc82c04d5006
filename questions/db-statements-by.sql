-- title: Which statements lead by calls, rows, reads, log or another measure?
-- about: Statements ordered by one measure, per second and per call, with the share of all statements. The parameter chooses it.
-- section: database
-- chart: table
-- order: 32
-- param: by = calls, calls, rows, blocks, reads, dirtied, wal, temp, planning, compiling, locking, cpu or errors
-- param: n = 30, how many statements to show
WITH measured AS (
    SELECT run, host, server, s.database, digest, statement, calls_per_s, in_total, running, CASE $by
        WHEN 'rows' THEN rows_per_s WHEN 'blocks' THEN coalesce(cache_hits_per_s, 0) + cache_misses_per_s WHEN 'reads' THEN cache_misses_per_s
        WHEN 'dirtied' THEN dirtied_blocks_per_s WHEN 'wal' THEN wal_bytes_per_s WHEN 'temp' THEN temp_bytes_per_s WHEN 'planning' THEN planning
        WHEN 'compiling' THEN compiling WHEN 'locking' THEN locking WHEN 'cpu' THEN on_cpu WHEN 'errors' THEN errors / seen_s ELSE calls_per_s END AS per_second
    FROM db_statement_mean s
)
SELECT run, host, server, measured.database, per_second, per_second / nullif(calls_per_s, 0) AS per_call,
    CASE WHEN in_total THEN 100 * per_second / nullif(sum(per_second) FILTER (in_total) OVER (PARTITION BY run, host, server), 0) END AS share_pct,
    calls_per_s, running, statement, digest
FROM measured
WHERE per_second > 0
ORDER BY run, host, per_second DESC, digest
LIMIT $n
