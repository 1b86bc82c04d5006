-- title: The buffer pool hit ratio of a database is low
-- severity: warning
-- section: database
-- message: {name} found {hits:%} of the blocks in its cache and requested {misses:/s} from the operating system[; the setting is {setting}].
-- advice: Enlarge the cache, or replace scans by an index. A low ratio is normal for a warehouse that scans more than memory.
-- ask: db-hot-tables
-- explains: reads-past-cache
-- impact: late of the active sessions' time
-- world: database
-- yes: db server=localhost database=shop cache_hits_per_s=5000 cache_misses_per_s=900 *30
--
-- yes: db server=localhost database=shop cache_hits_per_s=5000 cache_misses_per_s=900 *30
-- yes: db_wait server=localhost wait_class=IO wait_event=disk time=4 *30
-- yes: disk device=sda class=disk reads_per_s=800 read_await_ms=1 *30
-- no: db server=localhost database=shop cache_hits_per_s=90000 cache_misses_per_s=200 *30
--
-- no: db server=localhost database=shop cache_hits_per_s=5 cache_misses_per_s=9 *30
--
-- no: db server=localhost database=shop cache_hits_per_s=5000 cache_misses_per_s=900 *30
-- no: db_wait server=localhost wait_class=CPU wait_event=cpu time=4 *30
-- no: disk device=sda class=disk reads_per_s=20 read_await_ms=1 *30
--
-- no: db server=localhost database=shop cache_hits_per_s=2000 cache_misses_per_s=3000 *20
-- no: db server=localhost database=shop cache_hits_per_s=9000 cache_misses_per_s=20 *20 @20
--
-- yes: db cache_hits_per_s=5000 cache_misses_per_s=900 dt=60
-- yes: metric name=oracle.wait_time value=12
-- 95 % is a modest aim for transactions, where 99 % is usual; a hundred misses a second, so that it matters. A miss that the page cache
-- answers costs little: what the disks read takes a twentieth of the sessions' time at least, where both are known.
-- A cache that was filled while it was watched, as just after loading or a start, is none: it must be low in the second half too.
-- A server's own row is the sum of its databases.
WITH halves AS (
    SELECT run, host, server, d.database AS name_of, cache_hits_per_s, cache_misses_per_s, coalesce(dt, 1) AS dt,
        t IS NULL OR epoch_us(t) * 2 >= min(epoch_us(t)) OVER w + max(epoch_us(t)) OVER w AS is_late
    FROM db d
    WINDOW w AS (PARTITION BY run, host, server, d.database)
), databases AS (
    SELECT run, host, server, name_of, wmean(cache_hits_per_s, dt) AS found, wmean(cache_misses_per_s, dt) AS misses,
        wmean(CASE WHEN is_late THEN cache_hits_per_s END, dt) AS late_found, wmean(CASE WHEN is_late THEN cache_misses_per_s END, dt) AS late_misses
    FROM halves
    GROUP BY run, host, server, name_of
), vendors AS (
    SELECT run, max(CASE WHEN value ILIKE 'postgres%' THEN 'shared_buffers' WHEN value ILIKE '%maria%' OR value ILIKE '%mysql%' THEN 'innodb_buffer_pool_size' END) AS setting
    FROM db_setting WHERE name = 'vendor' GROUP BY run
), reports AS (
    SELECT DISTINCT run, 'db_cache_size' AS setting FROM metric WHERE name LIKE 'oracle.%'
), spans AS (
    SELECT run, host, sum(dt) AS seen_s FROM sched GROUP BY run, host
), active AS (
    SELECT run, host, server, sum(time * dt) AS session_s FROM db_wait GROUP BY run, host, server
), disks AS (
    SELECT run, host, sum(reads_per_s * dt) AS reads, sum(reads_per_s * read_await_ms / 1000 * dt) AS read_s
    FROM disk
    WHERE coalesce(class, 'disk') = 'disk'
    GROUP BY run, host
), known AS (
    SELECT d.run, d.host, concat_ws(' ', d.server, name_of) AS name, 100 * found / nullif(found + misses, 0) AS hits, misses,
        100 * read_s * least(1, misses * seen_s / nullif(reads, 0)) / nullif(session_s, 0) AS late
    FROM databases d
    LEFT JOIN spans s ON s.run = d.run AND s.host = d.host
    LEFT JOIN active a ON a.run = d.run AND a.host = d.host AND a.server = d.server
    LEFT JOIN disks k ON k.run = d.run AND k.host = d.host
    WHERE misses >= 100 AND found < 0.95 * (found + misses) AND late_misses >= 100 AND late_found < 0.95 * (late_found + late_misses)
    QUALIFY name_of IS NOT NULL OR count(name_of) OVER (PARTITION BY d.run, d.host, d.server) = 0
)
SELECT k.run, k.host, k.name, hits, misses, late, coalesce(r.setting, v.setting) AS setting
FROM known k LEFT JOIN vendors v ON v.run = k.run LEFT JOIN reports r ON r.run = k.run
WHERE late IS NULL OR late >= 5
ORDER BY misses DESC, k.run, k.host, k.name
