-- title: How much memory did a database server take?
-- about: Memory of the server's processes that is theirs alone, its own cache, and the page cache of its data files. PostgreSQL's cache is shared memory; that of MariaDB and MySQL is in the private memory of their one process, as far as it was used, and not shown apart.
-- section: database
-- chart: stacked
-- x: t
-- y: private_bytes, cache_bytes, page_cache_bytes
-- series: server
-- unit: B
-- order: 58
WITH reported AS (
    SELECT run, host, server, max(value) FILTER (name IN ('data_directory', 'datadir')) AS folder,
        max(TRY_CAST(value AS DOUBLE)) FILTER (name = 'shared_buffers' AND s.unit = '8kB') * 8192 AS shared_bytes,
        max(TRY_CAST(value AS DOUBLE)) FILTER (name = 'max_connections') AS max_connections
    FROM db_setting s GROUP BY run, host, server
), taken AS (
    SELECT run, host, t, dt, regexp_extract(labels, 'server=(.*)', 1) AS server, value AS private_bytes FROM metric WHERE name = 'db_private_memory'
), cached AS (
    SELECT run, host, place, t, sum(cached_bytes) AS page_cache_bytes FROM page_cache WHERE place IS NOT NULL GROUP BY run, host, place, t
)
SELECT k.run, k.host, k.t, k.dt, k.server, k.private_bytes, s.shared_bytes AS cache_bytes, arg_max(c.page_cache_bytes, c.t) AS page_cache_bytes, s.max_connections
FROM taken k
LEFT JOIN reported s ON s.run = k.run AND s.host = k.host AND s.server = k.server
LEFT JOIN cached c ON c.run = k.run AND c.host = k.host AND c.place = rtrim(s.folder, '/') AND c.t <= k.t
GROUP BY k.run, k.host, k.t, k.dt, k.server, k.private_bytes, s.shared_bytes, s.max_connections
ORDER BY k.run, k.host, k.server, k.t
