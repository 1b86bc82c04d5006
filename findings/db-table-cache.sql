-- title: The table cache of a database server is too small
-- severity: info
-- section: database
-- message: {server} closed {closed:/s} tables to make room for others: {missed:%} of the tables that statements opened were not in its cache of {size}. {of_time}
-- advice: Raise table_open_cache above the number of tables that are used at once, times the sessions that use them; open_files_limit has to follow. Harmless while many tables are made or read once (a backup). Mistaken for contention in the storage engine: sessions are in the states Opening tables and closing tables.
-- ask: db-sessions
-- impact: share of the DB time
-- world: database
-- yes: db server=localhost samples=10 table_cache_hits_per_s=100 table_cache_misses_per_s=900 table_cache_overflows_per_s=850 *40
-- yes: db_session server=localhost session=1 kind=FOREGROUND state="Opening tables" activity=cpu dt=1 *30
-- yes: db_session server=localhost session=2 kind=FOREGROUND state="Sending data" activity=cpu dt=1 *30
-- yes: db_setting server=localhost name=table_open_cache value=10
--
-- yes: db server=localhost samples=10 table_cache_hits_per_s=100 table_cache_misses_per_s=900 table_cache_overflows_per_s=850 *40
--
-- yes: db table_cache_hits_per_s=100 table_cache_misses_per_s=900 table_cache_overflows_per_s=850 *12
-- no: db server=localhost samples=10 table_cache_hits_per_s=9000 table_cache_misses_per_s=5 table_cache_overflows_per_s=0 *40
--
-- no: db server=localhost samples=10 table_cache_hits_per_s=9000 table_cache_misses_per_s=500 table_cache_overflows_per_s=0 *40
--
-- no: db server=localhost samples=10 table_cache_hits_per_s=99000 table_cache_misses_per_s=30 table_cache_overflows_per_s=30 *40
--
-- no: db server=localhost samples=10 table_cache_hits_per_s=100 table_cache_misses_per_s=900 table_cache_overflows_per_s=850 *9
-- Ten a second that had to make room: tables that are opened for the first time, or anew after FLUSH TABLES, miss the cache whatever its
-- size. A tenth of what is opened (MySQLTuner: four fifths). A warning where the states that open and close are a tenth of the DB time,
-- or, where sessions were not looked at, a hundred a second and every second one that is opened.
WITH opened AS (
    SELECT run, host, server, wmean(table_cache_hits_per_s, dt) AS hits, wmean(table_cache_misses_per_s, dt) AS misses, wmean(table_cache_overflows_per_s, dt) AS closed, sum(dt) AS seen_s
    FROM db d WHERE d.database IS NULL GROUP BY run, host, server
), states AS (
    SELECT run, host, server, sum(sessions) FILTER (lower(state) IN ('opening tables', 'closing tables', 'opening table', 'closing table')) AS opening, sum(sessions) AS active
    FROM db_session_share WHERE in_db_time GROUP BY run, host, server
), sizes AS (
    SELECT run, host, server, arg_max(value, t) AS size FROM db_setting WHERE name = 'table_open_cache' GROUP BY run, host, server
)
SELECT o.run, o.host, o.server, o.closed, 100 * o.misses / (o.hits + o.misses) AS missed, coalesce(z.size, 'unknown size') AS size,
    100 * coalesce(s.opening, 0) / nullif(s.active, 0) AS share,
    CASE WHEN s.active > 0 THEN 'Opening and closing is ' || CAST(round(100 * coalesce(s.opening, 0) / s.active) AS VARCHAR) || '% of the DB time.' ELSE 'How long that took is not known.' END AS of_time, CASE WHEN s.opening >= 0.1 * s.active AND s.opening >= 0.1 OR s.active IS NULL AND o.closed >= 100 AND o.misses >= 0.5 * (o.hits + o.misses) THEN 'warning' ELSE 'info' END AS severity
FROM opened o
LEFT JOIN states s ON s.run = o.run AND s.host = o.host AND s.server IS NOT DISTINCT FROM o.server
LEFT JOIN sizes z ON z.run = o.run AND z.host = o.host AND z.server IS NOT DISTINCT FROM o.server
WHERE o.closed >= 10 AND o.misses >= 0.1 * (o.hits + o.misses) AND o.seen_s >= 10
ORDER BY o.closed DESC, o.run, o.host, o.server
