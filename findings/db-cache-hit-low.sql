-- title: The buffer pool hit ratio of a database is low
-- severity: warning
-- section: database
-- says: {name} found {hits:%} of the blocks in its cache and requested {misses:/s} from the operating system.
-- advice: Enlarge the cache (shared_buffers, innodb_buffer_pool_size), or replace scans by an index. A low ratio is normal for a warehouse that scans more than memory.
-- ask: db-hot-tables
-- part: user I/O
-- yes: db server=localhost database=shop cache_hits_per_s=5000 cache_misses_per_s=900 *30
-- no: db server=localhost database=shop cache_hits_per_s=90000 cache_misses_per_s=200 *30
--
-- no: db server=localhost database=shop cache_hits_per_s=5 cache_misses_per_s=9 *30
-- 95 % is a modest aim for transactions, where 99 % is usual; a hundred misses a second, so that it matters.
-- A server's own row is the sum of its databases.
WITH databases AS (
    SELECT run, host, server, d.database AS name_of, wmean(cache_hits_per_s, dt) AS found, wmean(cache_misses_per_s, dt) AS misses
    FROM db d
    GROUP BY run, host, server, d.database
)
SELECT run, host, concat_ws(' ', server, name_of) AS name, 100 * found / nullif(found + misses, 0) AS hits, misses
FROM databases
WHERE misses >= 100 AND found < 0.95 * (found + misses)
QUALIFY name_of IS NOT NULL OR count(name_of) OVER (PARTITION BY run, host, server) = 0
ORDER BY misses DESC, run, host, name
