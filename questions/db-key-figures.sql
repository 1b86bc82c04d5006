-- title: What are the key figures of the database?
-- about: DB time per second and per transaction, the share of it that statements account for, buffer cache hits, log, checkpoints, the oldest transaction and dead rows. What a server does not say is left out.
-- section: database
-- chart: tiles
-- order: 0
-- param: server = '', only of this server
WITH spent AS (
    SELECT run, host, server, sum(sessions) AS db_time FROM db_best_wait WHERE in_db_time GROUP BY run, host, server
), statements AS (
    SELECT run, host, server, t, any_value(dt) AS dt, sum(s.time) AS in_statements
    FROM db_statement s WHERE coalesce(nested, 'no') <> 'yes' AND s.time IS NOT NULL AND dt > 0 GROUP BY run, host, server, t
), observed AS (
    -- An interval of statements that began before the time range has only a part of its DB time in it.
    SELECT run, host, server, min(epoch_us(t) - dt * 1e6) AS since_us
    FROM (SELECT run, host, server, t, coalesce(dt, 1) AS dt FROM db WHERE samples > 0 UNION ALL SELECT run, host, server, t, dt FROM db_best_wait)
    GROUP BY run, host, server
), beside AS (
    SELECT s.run, s.host, s.server, s.t, any_value(s.dt * s.in_statements) AS in_statements, sum(w.time * w.dt) AS db_time
    FROM statements s
    JOIN observed o ON o.run = s.run AND o.host = s.host AND o.server IS NOT DISTINCT FROM s.server AND epoch_us(s.t) - s.dt * 1e6 > o.since_us - 5e5
    JOIN db_best_wait w ON w.run = s.run AND w.host = s.host AND w.server IS NOT DISTINCT FROM s.server
        AND w.t <= s.t AND epoch_us(w.t) > epoch_us(s.t) - s.dt * 1e6 + 5e5
    WHERE w.in_db_time
    GROUP BY s.run, s.host, s.server, s.t
), explained AS (
    SELECT run, host, server, 100 * sum(in_statements) / nullif(sum(db_time), 0) AS pct FROM beside GROUP BY run, host, server
), written AS (
    SELECT run, host, server, wmean(wal_bytes_per_s, coalesce(dt, 1)) AS log_bytes_per_s FROM db_wal GROUP BY run, host, server
), checkpoints AS (
    SELECT run, host, server, sum(timed) AS timed, sum(requested) AS requested FROM db_checkpoint GROUP BY run, host, server
), oldest AS (
    SELECT run, host, server, max(oldest_transaction_s) AS oldest_s, max(history_length) AS history_length FROM db GROUP BY run, host, server
), dead AS (
    SELECT run, host, server, sum(dead_rows) AS dead_rows
    FROM (SELECT run, host, server, d.database, relation, arg_max(dead_rows, t) AS dead_rows FROM db_table d GROUP BY ALL)
    GROUP BY run, host, server
), lines AS (
    SELECT s.run, s.host, s.server, unnest([
        {'place': 1, 'name': 'DB time', 'unit': 's/s', 'value': coalesce(a.db_time, s.db_time)},
        {'place': 2, 'name': 'DB time per transaction', 'unit': 'ms', 'value': 1000 * coalesce(a.db_time, s.db_time) / nullif(s.transactions_per_s, 0)},
        {'place': 3, 'name': 'transactions', 'unit': '/s', 'value': s.transactions_per_s},
        {'place': 4, 'name': 'time in statements', 'unit': '%', 'value': e.pct},
        {'place': 5, 'name': 'cache hits', 'unit': '%', 'value': 100 * s.cache_hits_per_s / nullif(s.cache_hits_per_s + s.cache_misses_per_s, 0)},
        {'place': 6, 'name': 'log', 'unit': 'B/s', 'value': coalesce(s.log_bytes_per_s, w.log_bytes_per_s)},
        {'place': 7, 'name': 'checkpoints', 'unit': '', 'value': coalesce(k.timed + k.requested, k.timed, k.requested)},
        {'place': 8, 'name': 'checkpoints on request', 'unit': '', 'value': nullif(k.requested, 0)},
        {'place': 9, 'name': 'oldest transaction', 'unit': 's', 'value': o.oldest_s},
        {'place': 10, 'name': 'dead rows of tables in use', 'unit': '', 'value': d.dead_rows},
        {'place': 11, 'name': 'undo history length', 'unit': '', 'value': o.history_length}
    ]) AS line
    FROM db_server s
    LEFT JOIN spent a ON a.run = s.run AND a.host = s.host AND a.server IS NOT DISTINCT FROM s.server
    LEFT JOIN explained e ON e.run = s.run AND e.host = s.host AND e.server IS NOT DISTINCT FROM s.server
    LEFT JOIN written w ON w.run = s.run AND w.host = s.host AND w.server IS NOT DISTINCT FROM s.server
    LEFT JOIN checkpoints k ON k.run = s.run AND k.host = s.host AND k.server IS NOT DISTINCT FROM s.server
    LEFT JOIN oldest o ON o.run = s.run AND o.host = s.host AND o.server IS NOT DISTINCT FROM s.server
    LEFT JOIN dead d ON d.run = s.run AND d.host = s.host AND d.server IS NOT DISTINCT FROM s.server
    WHERE $server IN ('', s.server)
)
SELECT run, host, CASE WHEN count(DISTINCT server) OVER (PARTITION BY run, host) > 1 THEN server END AS server,
    line.name AS name, line.unit AS unit, line.value AS value
FROM lines
WHERE line.value IS NOT NULL
ORDER BY run, host, lines.server, line.place
