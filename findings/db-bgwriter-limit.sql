-- title: The background writer stops at its limit
-- severity: info
-- section: database
-- message: The background writer of {server} stopped {n:time|times} ({rate:/s}) because it had written as much as it may.
-- advice: Raise bgwriter_lru_maxpages, or lower bgwriter_delay: otherwise sessions write themselves.
-- ask: db-writers
-- world: database
-- yes: db_checkpoint server=localhost cleaner_stops=4 *40
-- no: db_checkpoint server=localhost cleaner_stops=0 *40
--
-- no: db_checkpoint server=localhost cleaner_stops=1 dt=10 *4
-- One a second; it works at most five times a second by default.
SELECT run, host, server, CAST(sum(cleaner_stops) AS BIGINT) AS n, sum(cleaner_stops) / sum(dt) AS rate
FROM db_checkpoint
GROUP BY run, host, server
HAVING sum(cleaner_stops) / sum(dt) >= 1 AND sum(dt) >= 5
ORDER BY rate DESC, run, host, server
