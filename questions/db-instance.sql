-- title: Which server was it, and what did it have?
-- about: Version, role, start, machine, size and the settings that say how much memory and how many sessions a server may use. What is not known is left out.
-- section: database
-- chart: table
-- order: 1
WITH reported AS (
    SELECT run, host, server, name, arg_max(value, t) AS value, arg_max(s.unit, t) AS unit FROM db_setting s GROUP BY run, host, server, name
), observed AS (
    SELECT run, host, server, min(epoch_us(t) - coalesce(dt, 1) * 1e6) AS from_us, max(epoch_us(t)) AS to_us, sum(dt) FILTER (d.database IS NULL) AS whole_s,
        arg_min(sessions, t) FILTER (d.database IS NULL) AS sessions_at_begin, arg_max(sessions, t) FILTER (d.database IS NULL) AS sessions_at_end,
        max(samples) AS samples
    FROM db d GROUP BY run, host, server
), looked AS (
    SELECT run, host, server, sum(samples) AS samples FROM db WHERE db.database IS NULL GROUP BY run, host, server
), spent AS (
    SELECT run, host, server, sum(sessions) AS db_time FROM db_best_wait WHERE in_db_time GROUP BY run, host, server
), sized AS (
    SELECT run, host, server, sum(size_bytes) AS bytes
    FROM (SELECT run, host, server, d.database, relation, arg_max(size_bytes, t) AS size_bytes FROM db_table d GROUP BY ALL)
    GROUP BY run, host, server
), happened AS (
    SELECT run, host, count(*) AS n FROM event WHERE kind IN ('restart', 'counter reset', 'role changed') GROUP BY run, host
), machine AS (
    SELECT run, host, max(total_bytes) AS bytes FROM mem GROUP BY run, host
), lines AS (
    SELECT o.run, o.host, o.server, unnest([
        {'place': 1, 'name': 'vendor', 'value': s.vendor},
        {'place': 2, 'name': 'version', 'value': s.version},
        {'place': 5, 'name': 'CPUs', 'value': CAST(CAST(s.cpus AS BIGINT) AS VARCHAR)},
        {'place': 6, 'name': 'memory of the machine', 'value': CASE WHEN m.bytes > 0 THEN concat(CAST(round(m.bytes / 1073741824, 1) AS VARCHAR), ' GiB') END},
        {'place': 7, 'name': 'size of tables', 'value': CASE WHEN z.bytes > 0 THEN concat(CAST(round(z.bytes / 1048576, 1) AS VARCHAR), ' MiB') END},
        {'place': 8, 'name': 'elapsed', 'value': concat(CAST(round(o.whole_s, 1) AS VARCHAR), ' s')},
        {'place': 9, 'name': 'sessions at begin', 'value': CAST(CAST(o.sessions_at_begin AS BIGINT) AS VARCHAR)},
        {'place': 10, 'name': 'sessions at end', 'value': CAST(CAST(o.sessions_at_end AS BIGINT) AS VARCHAR)},
        {'place': 11, 'name': 'DB time', 'value': concat(CAST(round(coalesce(p.db_time, s.db_time) * o.whole_s, 1) AS VARCHAR), ' s')},
        {'place': 12, 'name': 'mean active sessions', 'value': CAST(round(coalesce(p.db_time, s.db_time), 2) AS VARCHAR)},
        {'place': 13, 'name': 'looks at sessions', 'value': CAST(CAST(nullif(l.samples, 0) AS BIGINT) AS VARCHAR)},
        {'place': 14, 'name': 'restarts and resets', 'value': CAST(coalesce(h.n, 0) AS VARCHAR)}
    ]) AS line
    FROM observed o
    LEFT JOIN db_server s ON s.run = o.run AND s.host = o.host AND s.server IS NOT DISTINCT FROM o.server
    LEFT JOIN spent p ON p.run = o.run AND p.host = o.host AND p.server IS NOT DISTINCT FROM o.server
    LEFT JOIN looked l ON l.run = o.run AND l.host = o.host AND l.server IS NOT DISTINCT FROM o.server
    LEFT JOIN sized z ON z.run = o.run AND z.host = o.host AND z.server IS NOT DISTINCT FROM o.server
    LEFT JOIN happened h ON h.run = o.run AND h.host = o.host
    LEFT JOIN machine m ON m.run = o.run AND m.host = o.host
), own AS (
    SELECT run, host, server, CASE name WHEN 'in_recovery' THEN 3 WHEN 'started' THEN 4 ELSE 20 END AS place,
        CASE name WHEN 'in_recovery' THEN 'role' ELSE name END AS name,
        CASE WHEN name = 'in_recovery' THEN CASE WHEN value IN ('true', 't', 'on') THEN 'standby' ELSE 'primary' END
            ELSE concat(value, CASE WHEN unit IS NULL THEN '' ELSE concat(' × ', unit) END) END AS value
    FROM reported
    WHERE name IN ('in_recovery', 'started', 'shared_buffers', 'effective_cache_size', 'work_mem', 'maintenance_work_mem', 'max_connections', 'max_wal_size',
        'wal_buffers', 'checkpoint_timeout', 'synchronous_commit', 'fsync', 'innodb_buffer_pool_size', 'innodb_log_file_size', 'innodb_flush_log_at_trx_commit',
        'sync_binlog', 'log_bin', 'tmp_table_size', 'table_open_cache', 'thread_handling')
)
SELECT run, host, server, line.name AS name, line.value AS value, line.place AS place FROM lines WHERE line.value IS NOT NULL
UNION ALL
SELECT run, host, server, name, value, place FROM own
ORDER BY run, host, server, place, name
