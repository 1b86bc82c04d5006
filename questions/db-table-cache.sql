-- title: How well are tables cached?
-- about: Cache hit ratio of tables and of their indexes in the server, and how much of their files the page cache holds, where both were recorded. A table in both caches takes memory twice.
-- section: database
-- chart: table
-- order: 43
-- param: n = 30, how many tables to show
WITH used AS (
    SELECT run, host, server, d.database AS database_name, relation, wmean(cache_hits_per_s, dt) AS hits_per_s, wmean(cache_misses_per_s, dt) AS misses_per_s,
        wmean(index_hits_per_s, dt) AS index_hits_per_s, wmean(index_misses_per_s, dt) AS index_misses_per_s, arg_max(size_bytes, t) AS size_bytes, any_value(file) AS file
    FROM db_table d
    GROUP BY run, host, server, d.database, relation
), cached AS (
    SELECT run, host, regexp_replace(path, '(\.[0-9]+|_vm|_fsm|_init)$', '') AS path, sum(cached_bytes) AS cached_bytes, sum(size_bytes) AS file_bytes
    FROM (SELECT run, host, path, arg_max(cached_bytes, t) AS cached_bytes, arg_max(size_bytes, t) AS size_bytes FROM file_cache GROUP BY run, host, path)
    GROUP BY run, host, regexp_replace(path, '(\.[0-9]+|_vm|_fsm|_init)$', '')
)
SELECT u.run, u.host, u.server, u.database_name, u.relation, u.size_bytes, u.misses_per_s, 100 * u.hits_per_s / nullif(u.hits_per_s + u.misses_per_s, 0) AS hit_pct,
    100 * u.index_hits_per_s / nullif(u.index_hits_per_s + u.index_misses_per_s, 0) AS index_hit_pct, sum(c.cached_bytes) AS page_cache_bytes, sum(c.file_bytes) AS file_bytes
FROM used u
LEFT JOIN cached c ON c.run = u.run AND c.host = u.host AND u.file IS NOT NULL AND ends_with(c.path, concat('/', u.file))
GROUP BY u.run, u.host, u.server, u.database_name, u.relation, u.size_bytes, u.misses_per_s, u.hits_per_s, u.index_hits_per_s, u.index_misses_per_s
ORDER BY u.run, u.host, u.misses_per_s DESC NULLS LAST, u.hits_per_s DESC NULLS LAST, u.relation
LIMIT $n
