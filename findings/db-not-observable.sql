-- title: A part of a database server could not be seen
-- severity: info
-- section: database
-- message: Of {server}: {what}.
-- advice: What is named is missing from tables, charts and findings: that nothing is found there means nothing. The message says which GRANT or setting helps; fenxi watch db-check URL shows all of it. Mistaken for a server that does little.
-- ask: db-seen
-- kind: measurement
-- world: recording
-- yes: db server=localhost samples=10 *40
-- yes: note source=localhost message="statements are not seen: pg_stat_statements is not installed in database `shop`"
--
-- yes: db server=localhost samples=10 *40
-- yes: note source=localhost message="7 sessions of others are not seen: GRANT pg_monitor TO me shows them"
--
-- yes: note source=elsewhere message="not observed: connection refused"
--
-- yes: db server=localhost samples=10 cache_misses_per_s=900 *40
-- yes: note source=localhost message="times of reads and writes are not seen: track_io_timing is off"
-- no: db server=localhost samples=10 cache_misses_per_s=3 *40
-- no: note source=localhost message="times of reads and writes are not seen: track_io_timing is off"
--
-- no: db server=localhost samples=10 *40
-- no: note source=cpu message="CPU 3 cannot be read"
--
-- no: db server=localhost samples=10 *40
-- no: note source=localhost message="holders of metadata locks are not seen: the instrument is off"
-- no: note source=localhost message="50 statements of an interval are added up as `(others)`"
-- Times of I/O count from a hundred reads a second on, holders of metadata locks once a session waits for one. A warning where sessions of
-- others are hidden, or the server was not observed at all: then figures of activity are wrong, not only absent.
WITH servers AS (
    SELECT d.run, d.host, d.server, any_value(s.cache_misses_per_s) AS misses
    FROM db d LEFT JOIN db_server s ON s.run = d.run AND s.host = d.host AND s.server IS NOT DISTINCT FROM d.server
    GROUP BY d.run, d.host, d.server
), waited AS (
    SELECT DISTINCT run, host, server FROM db_session WHERE wait_event ILIKE '%metadata%' OR state ILIKE '%metadata%'
), notes AS (
    SELECT DISTINCT n.run, n.host, n.source AS server, n.message, n.message LIKE 'not observed:%' OR n.message LIKE '%sessions of other%' AS is_wrong
    FROM note n
    LEFT JOIN servers s ON s.run = n.run AND s.host = n.host AND s.server = n.source
    LEFT JOIN waited w ON w.run = n.run AND w.host = n.host AND w.server = n.source
    WHERE n.message LIKE 'not observed:%' OR s.server IS NOT NULL
        AND (n.message LIKE '% not seen:%' OR n.message LIKE '% cannot be read:%' OR n.message LIKE '% not read:%' OR n.message LIKE '% no longer read:%' OR n.message LIKE '% not sampled:%' OR n.message LIKE 'prepared statements are executed%')
        AND (n.message NOT LIKE 'times of reads and writes%' OR s.misses >= 100)
        AND (n.message NOT LIKE 'holders of metadata locks%' OR w.server IS NOT NULL)
)
SELECT run, host, server, string_agg(message, '; ' ORDER BY is_wrong DESC, message) AS what, CASE WHEN bool_or(is_wrong) THEN 'warning' ELSE 'info' END AS severity
FROM notes
GROUP BY run, host, server
ORDER BY bool_or(is_wrong) DESC, run, host, server
