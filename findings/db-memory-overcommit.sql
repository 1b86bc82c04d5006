-- title: A database server may use more memory than there is
-- severity: info
-- section: database
-- message: {server} may take {promised:B} of {memory:B}: {shared:B} shared, and {each:B} in each of {max_connections} sessions.
-- advice: Nothing is wrong while few sessions sort or join at once. For all of them to fit, lower max_connections (a pool), the cache, or what a session may take (work_mem; sort_buffer_size, join_buffer_size). Other programs of the machine need memory as well. Mistaken for a leak, or for somebody else's fault, when the kernel kills the server.
-- ask: db-memory
-- world: database
-- yes: mem total_bytes=16e9 available_bytes=4e9 *40
-- yes: db_wait server=localhost activity=cpu kind=client measured=os time=1 *40
-- yes: db_setting server=localhost name=shared_buffers value=524288 unit=8kB
-- yes: db_setting server=localhost name=work_mem value=65536 unit=kB
-- yes: db_setting server=localhost name=max_connections value=500
--
-- yes: mem total_bytes=16e9 available_bytes=1e9 *40
-- yes: db_wait server=localhost activity=cpu kind=client measured=os time=1 *40
-- yes: db_setting server=localhost name=innodb_buffer_pool_size value=14000000000
-- yes: db_setting server=localhost name=sort_buffer_size value=2097152
-- yes: db_setting server=localhost name=join_buffer_size value=262144
-- yes: db_setting server=localhost name=max_connections value=500
-- no: mem total_bytes=16e9 available_bytes=4e9 *40
-- no: db_wait server=localhost activity=cpu kind=client measured=os time=1 *40
-- no: db_setting server=localhost name=shared_buffers value=524288 unit=8kB
-- no: db_setting server=localhost name=work_mem value=4096 unit=kB
-- no: db_setting server=localhost name=max_connections value=500
--
-- no: mem total_bytes=16e9 available_bytes=4e9 *40
-- no: db_setting server=elsewhere name=shared_buffers value=5242880 unit=8kB
-- no: db_setting server=elsewhere name=work_mem value=65536 unit=kB
-- no: db_setting server=elsewhere name=max_connections value=500
--
-- no: db_wait server=localhost activity=cpu kind=client measured=os time=1 *40
-- no: db_setting server=localhost name=shared_buffers value=5242880 unit=8kB
-- no: db_setting server=localhost name=work_mem value=65536 unit=kB
-- no: db_setting server=localhost name=max_connections value=500
-- 85 % of the memory (MySQLTuner), of the control group's where that has a limit, and of servers of this host only. One work_mem, or one
-- buffer of each kind, for each session: a statement can take several. A warning where the run was short of memory indeed: less than a
-- tenth available, or swapping.
WITH numbers AS (
    SELECT run, host, server, name, arg_max(TRY_CAST(value AS DOUBLE), t) * CASE arg_max(s.unit, t) WHEN '8kB' THEN 8192 WHEN 'kB' THEN 1024 WHEN 'MB' THEN 1048576 ELSE 1 END AS value
    FROM db_setting s WHERE coalesce(origin, '') <> 'server' GROUP BY run, host, server, name
), promises AS (
    SELECT run, host, server, max(value) FILTER (name = 'max_connections') AS max_connections,
        sum(value) FILTER (name IN ('shared_buffers', 'wal_buffers', 'innodb_buffer_pool_size', 'innodb_log_buffer_size', 'key_buffer_size', 'aria_pagecache_buffer_size', 'query_cache_size') AND value > 0) AS shared,
        sum(value) FILTER (name IN ('work_mem', 'sort_buffer_size', 'join_buffer_size', 'read_buffer_size', 'read_rnd_buffer_size', 'thread_stack')) AS each
    FROM numbers GROUP BY run, host, server
), groups AS (
    SELECT s.run, s.host, s.server, min(g.memory_limit_bytes) AS limit_of
    FROM db_setting s JOIN cgroup g ON g.run = s.run AND g.host = s.host AND g.cgroup = s.value
    WHERE s.origin = 'server' AND s.name = 'cgroup' GROUP BY s.run, s.host, s.server
), machine AS (
    SELECT m.run, m.host, max(total_bytes) AS total, min(available_bytes) < 0.1 * max(total_bytes) OR coalesce(any_value(v.swapped), false) AS is_short
    FROM mem m LEFT JOIN (SELECT run, host, max(swap_in_pages_per_s) >= 10 AS swapped FROM vm GROUP BY run, host) v ON v.run = m.run AND v.host = m.host
    GROUP BY m.run, m.host
), here AS (
    SELECT DISTINCT run, host, server FROM db_wait WHERE measured IN ('os', 'exact')
), sums AS (
    SELECT p.run, p.host, p.server, p.shared, p.each, CAST(p.max_connections AS BIGINT) AS max_connections, p.shared + p.max_connections * p.each AS promised,
        least(m.total, coalesce(g.limit_of, m.total)) AS memory, m.is_short
    FROM promises p
    JOIN here h ON h.run = p.run AND h.host = p.host AND h.server IS NOT DISTINCT FROM p.server
    JOIN machine m ON m.run = p.run AND m.host = p.host
    LEFT JOIN groups g ON g.run = p.run AND g.host = p.host AND g.server IS NOT DISTINCT FROM p.server
)
SELECT run, host, server, promised, memory, shared, each, max_connections, CASE WHEN is_short THEN 'warning' ELSE 'info' END AS severity
FROM sums
WHERE promised > 0.85 * memory
ORDER BY promised DESC, run, host, server
