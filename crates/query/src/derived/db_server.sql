-- One row for each database server: what it is by its settings, and its transactions and statements.
-- A server without its own row is the sum of its databases.
WITH known AS (
    SELECT run, host, server,
        max(value) FILTER (origin = 'server' AND name = 'vendor') AS vendor,
        max(value) FILTER (origin = 'server' AND name = 'version') AS version,
        max(TRY_CAST(value AS DOUBLE)) FILTER (origin = 'server' AND name = 'cpus') AS cpus,
        max(TRY_CAST(value AS DOUBLE)) FILTER (name = 'block_size' OR name = 'innodb_page_size') AS block_size,
        max(TRY_CAST(value AS DOUBLE)) FILTER (name = 'max_connections') AS max_connections
    FROM db_setting GROUP BY run, host, server
), machine AS (
    SELECT run, host, max(cpus_online) AS cpus FROM sched GROUP BY run, host
), here AS (
    SELECT DISTINCT run, host, server, 1 AS is_here FROM db_wait WHERE measured IN ('os', 'exact')
), counted AS (
    SELECT run, host, server, t, coalesce(dt, 1) AS dt, db.database IS NULL AS whole, sum(coalesce(commits_per_s, 0) + coalesce(rollbacks_per_s, 0)) AS tps,
        sum(commits_per_s) AS commits, sum(rollbacks_per_s) AS rollbacks, sum(statements_per_s) AS statements, sum(log_bytes_per_s) AS log_bytes,
        sum(cache_hits_per_s) AS hits, sum(cache_misses_per_s) AS misses, sum(db_time) AS db_time,
        sum(idle_in_transaction_time) AS idle_in_transaction, sum(block_read_time) AS block_read
    FROM db
    GROUP BY run, host, server, t, coalesce(dt, 1), db.database IS NULL
), best AS (
    SELECT * FROM counted QUALIFY whole = max(whole) OVER (PARTITION BY run, host, server)
), total AS (
    SELECT run, host, server, sum(dt) AS seen_s, steady(wmean(commits, dt)) AS commits_per_s, steady(wmean(rollbacks, dt)) AS rollbacks_per_s,
        CASE WHEN count(commits) + count(rollbacks) > 0 THEN steady(wmean(tps, dt)) END AS transactions_per_s, steady(wmean(statements, dt)) AS statements_per_s, steady(wmean(log_bytes, dt)) AS log_bytes_per_s,
        steady(wmean(hits, dt)) AS cache_hits_per_s, steady(wmean(misses, dt)) AS cache_misses_per_s, steady(wmean(best.db_time, dt)) AS db_time,
        steady(wmean(idle_in_transaction, dt)) AS idle_in_transaction_time, steady(wmean(block_read, dt)) AS block_read_time
    FROM best GROUP BY run, host, server
)
SELECT t.*, known.vendor, known.version, known.max_connections, known.block_size,
    coalesce(known.cpus, CASE WHEN here.is_here = 1 THEN machine.cpus END) AS cpus
FROM total t
LEFT JOIN known ON known.run = t.run AND known.host = t.host AND known.server IS NOT DISTINCT FROM t.server
LEFT JOIN here ON here.run = t.run AND here.host = t.host AND here.server IS NOT DISTINCT FROM t.server
LEFT JOIN machine ON machine.run = t.run AND machine.host = t.host
