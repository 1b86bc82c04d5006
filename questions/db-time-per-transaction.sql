-- title: What did a transaction cost the database?
-- about: Load profile: DB time, CPU, waits, log and blocks per second, per transaction and per statement. The cost of one transaction compares where loads differ.
-- section: database
-- chart: table
-- order: 6
WITH classes AS (
    SELECT run, host, server, sum(sessions) FILTER (in_db_time) AS db_time, sum(sessions) FILTER (kind = 'client' AND activity = 'cpu') AS on_cpu,
        sum(sessions) FILTER (kind = 'client' AND activity = 'run queue') AS run_queue,
        sum(sessions) FILTER (in_db_time AND activity NOT IN ('cpu', 'run queue')) AS waits
    FROM db_best_wait
    GROUP BY run, host, server
), lines AS (
    SELECT s.run, s.host, s.server, s.transactions_per_s, s.statements_per_s, unnest([
        {'place': 1, 'what': 'transactions', 'unit': '', 'per_second': s.transactions_per_s},
        {'place': 2, 'what': 'statements', 'unit': '', 'per_second': s.statements_per_s},
        {'place': 3, 'what': 'DB time', 'unit': 'ms', 'per_second': 1000 * coalesce(c.db_time, s.db_time)},
        {'place': 4, 'what': 'on CPU', 'unit': 'ms', 'per_second': 1000 * c.on_cpu},
        {'place': 5, 'what': 'run queue', 'unit': 'ms', 'per_second': 1000 * c.run_queue},
        {'place': 6, 'what': 'waits', 'unit': 'ms', 'per_second': 1000 * c.waits},
        {'place': 7, 'what': 'log', 'unit': 'B', 'per_second': s.log_bytes_per_s},
        {'place': 8, 'what': 'blocks found in the cache', 'unit': '', 'per_second': s.cache_hits_per_s},
        {'place': 9, 'what': 'blocks requested from the system', 'unit': '', 'per_second': s.cache_misses_per_s},
        {'place': 10, 'what': 'rollbacks', 'unit': '', 'per_second': s.rollbacks_per_s}
    ]) AS line
    FROM db_server s
    LEFT JOIN classes c ON c.run = s.run AND c.host = s.host AND c.server IS NOT DISTINCT FROM s.server
)
SELECT run, host, server, line.what AS what, line.unit AS unit, line.per_second AS per_second,
    line.per_second / nullif(transactions_per_s, 0) AS per_transaction, line.per_second / nullif(statements_per_s, 0) AS per_statement
FROM lines
WHERE line.per_second IS NOT NULL
ORDER BY run, host, server, line.place
