-- title: A database is cached twice (double buffering)
-- severity: info
-- section: memory
-- message: {kind} at {place} has a buffer pool of {pool:B}, and the page cache holds {cached:B} of its data files too.
-- advice: The same pages occupy memory twice. Give the memory to one cache: O_DIRECT (innodb_flush_method) for MariaDB, larger or smaller shared_buffers for PostgreSQL, which always reads through the page cache.
-- ask: memory-breakdown
-- yes: page_cache kind=mariadb place=/data pool_bytes=8e9 cached_bytes=6e9 buffered_files=40 *3
-- no: page_cache kind=mariadb place=/data pool_bytes=8e9 cached_bytes=6e6 direct_files=40 buffered_files=0 *3
--
-- no: page_cache kind=executables cached_bytes=6e9 *3
-- A quarter of the server's own cache, as both are at the end.
WITH latest AS (
    SELECT run, host, kind, place, pool_bytes AS pool, cached_bytes AS cached FROM page_cache
    QUALIFY row_number() OVER (PARTITION BY run, host, kind, place ORDER BY t DESC) = 1
)
SELECT run, host, kind, place, pool, cached, CASE WHEN kind = 'postgres' THEN 'info' ELSE 'warning' END AS severity
FROM latest
WHERE pool > 0 AND cached >= 0.25 * pool
ORDER BY cached DESC, run, host, place
