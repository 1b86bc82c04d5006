-- One row for each statement of a run, with means over all the time in which statements were counted: a statement that
-- did not run in an interval has no row there. Statements that functions ran are in the time of their callers and are
-- left out of `in_total`.
WITH spans AS (
    SELECT run, host, server, sum(coalesce(dt, 1)) AS seen_s
    FROM (SELECT DISTINCT run, host, server, t, dt FROM db_statement)
    GROUP BY run, host, server
)
SELECT s.run, s.host, s.server, s.database, s.digest, any_value(s.statement) AS statement, any_value(p.seen_s) AS seen_s,
    coalesce(s.nested, 'no') <> 'yes' AS in_total,
    steady(sum(s.time * coalesce(s.dt, 1)) / any_value(p.seen_s)) AS running,
    steady(sum(calls_per_s * coalesce(s.dt, 1)) / any_value(p.seen_s)) AS calls_per_s,
    coalesce(1000 * sum(s.time * coalesce(s.dt, 1)) / nullif(sum(calls_per_s * coalesce(s.dt, 1)), 0), avg(s.mean_ms)) AS mean_ms,
    max(max_ms) AS max_ms,
    steady(sum(plan_time * coalesce(s.dt, 1)) / any_value(p.seen_s)) AS planning,
    steady(sum(read_time * coalesce(s.dt, 1)) / any_value(p.seen_s)) AS reading,
    steady(sum(write_time * coalesce(s.dt, 1)) / any_value(p.seen_s)) AS writing,
    steady(sum(jit_time * coalesce(s.dt, 1)) / any_value(p.seen_s)) AS compiling,
    steady(sum(lock_time * coalesce(s.dt, 1)) / any_value(p.seen_s)) AS locking,
    steady(sum(cpu * coalesce(s.dt, 1)) / any_value(p.seen_s)) AS on_cpu,
    steady(sum(rows_per_s * coalesce(s.dt, 1)) / any_value(p.seen_s)) AS rows_per_s,
    steady(sum(rows_examined_per_s * coalesce(s.dt, 1)) / any_value(p.seen_s)) AS rows_examined_per_s,
    steady(sum(cache_hits_per_s * coalesce(s.dt, 1)) / any_value(p.seen_s)) AS cache_hits_per_s,
    steady(sum(cache_misses_per_s * coalesce(s.dt, 1)) / any_value(p.seen_s)) AS cache_misses_per_s,
    steady(sum(dirtied_blocks_per_s * coalesce(s.dt, 1)) / any_value(p.seen_s)) AS dirtied_blocks_per_s,
    steady(sum(written_blocks_per_s * coalesce(s.dt, 1)) / any_value(p.seen_s)) AS written_blocks_per_s,
    steady(sum(temp_bytes_per_s * coalesce(s.dt, 1)) / any_value(p.seen_s)) AS temp_bytes_per_s,
    steady(sum(wal_bytes_per_s * coalesce(s.dt, 1)) / any_value(p.seen_s)) AS wal_bytes_per_s,
    steady(sum(full_scans_per_s * coalesce(s.dt, 1)) / any_value(p.seen_s)) AS full_scans_per_s,
    steady(sum(no_index_per_s * coalesce(s.dt, 1)) / any_value(p.seen_s)) AS no_index_per_s,
    steady(sum(temp_disk_tables_per_s * coalesce(s.dt, 1)) / any_value(p.seen_s)) AS temp_disk_tables_per_s,
    sum(errors) AS errors
FROM db_statement s
JOIN spans p ON p.run = s.run AND p.host = s.host AND p.server IS NOT DISTINCT FROM s.server
GROUP BY s.run, s.host, s.server, s.database, s.digest, coalesce(s.nested, 'no') <> 'yes', CASE WHEN s.digest IS NULL THEN s.statement END
