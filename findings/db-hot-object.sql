-- title: One table or index causes most reads of the database
-- severity: info
-- section: database
-- message: {share:%} of the blocks that {server} requested from the operating system ({rate:/s}) are of {name}[; its size is {size:B}].
-- advice: A faster device for this object alone, or a cache that is larger by its size, removes most of the reads; see the next ones with fenxi ask db-hot-objects. First look whether a statement reads it in full for want of an index (fenxi ask db-full-scans).
-- ask: db-hot-objects
-- world: database
-- yes: db_table server=localhost database=shop relation=public.orders cache_misses_per_s=900 size_bytes=1e9 dt=10 *6
-- yes: db_table server=localhost database=shop relation=public.log cache_misses_per_s=100 size_bytes=9e9 dt=10 *6
-- no: db_table server=localhost database=shop relation=public.orders cache_misses_per_s=9 size_bytes=1e9 dt=10 *6
-- no: db_table server=localhost database=shop relation=public.log cache_misses_per_s=1 size_bytes=9e9 dt=10 *6
--
-- no: db_table server=localhost database=shop relation=public.a cache_misses_per_s=400 size_bytes=1e9 dt=10 *6
-- no: db_table server=localhost database=shop relation=public.b cache_misses_per_s=400 size_bytes=1e9 dt=10 *6
-- no: db_index server=localhost database=shop relation=public.b index_name=b1 cache_misses_per_s=400 size_bytes=1e9 dt=10 *6
--
-- no: db_table server=localhost database=shop relation=public.only cache_misses_per_s=900 size_bytes=1e9 dt=10 *6
--
-- no: db_table server=localhost database=shop relation=public.log cache_misses_per_s=900 rows_inserted_per_s=9e3 full_scans_per_s=0 index_scans_per_s=0 size_bytes=1e9 dt=10 *6
-- no: db_table server=localhost database=shop relation=public.orders cache_misses_per_s=50 size_bytes=9e9 dt=10 *6
-- Half of at least a hundred blocks a second, and another object beside it: what is the only one is no news. PostgreSQL before 16
-- counts the pages by which a table grows as well: what is added to and never scanned is not read.
WITH rows_of AS (
    SELECT run, host, server, relation AS name, t, coalesce(dt, 1) AS dt, 
        CASE WHEN rows_inserted_per_s > 0 AND full_scans_per_s = 0 AND coalesce(index_scans_per_s, 0) = 0 THEN 0
            ELSE coalesce(cache_misses_per_s, 0) + coalesce(toast_misses_per_s, 0) END AS misses, size_bytes
    FROM db_table
    UNION ALL
    SELECT run, host, server, concat(relation, ' ', index_name), t, coalesce(dt, 1), coalesce(cache_misses_per_s, 0), size_bytes FROM db_index
), spans AS (
    SELECT run, host, server, sum(dt) AS seen_s FROM (SELECT DISTINCT run, host, server, t, dt FROM rows_of) GROUP BY run, host, server
), objects AS (
    SELECT r.run, r.host, r.server, name, steady(sum(misses * r.dt) / any_value(seen_s)) AS rate, arg_max(size_bytes, t) AS size, any_value(seen_s) AS seen_s
    FROM rows_of r
    JOIN spans s ON s.run = r.run AND s.host = r.host AND s.server IS NOT DISTINCT FROM r.server
    GROUP BY r.run, r.host, r.server, name
), shares AS (
    SELECT *, 100 * rate / nullif(sum(rate) OVER whole, 0) AS share, sum(rate) OVER whole AS total, count(*) OVER whole AS objects
    FROM objects
    WINDOW whole AS (PARTITION BY run, host, server)
)
SELECT run, host, server, name, rate, share, size
FROM shares
WHERE share >= 50 AND total >= 100 AND objects >= 2 AND seen_s >= 5
ORDER BY rate DESC, run, host, server, name
