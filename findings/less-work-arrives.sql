-- title: Less work arrives
-- severity: info
-- section: result
-- periods: inside, rest
-- names-cause: fallback
-- message: {summary}, and nothing in the machine takes longer or is used more: less is asked for, or it arrives more slowly.
-- advice: Look at who asks: the load's schedule, its clients, what is between them and the server. The server itself shows no cause.
-- ask: db-throughput
-- yes: db commits_per_s=100 rows_returned_per_s=5000 active_sessions=5 *60
-- yes: inside db commits_per_s=30 rows_returned_per_s=1500 active_sessions=2 *30 @60
-- no: db commits_per_s=100 rows_returned_per_s=5000 active_sessions=5 *60
-- no: inside db commits_per_s=30 rows_returned_per_s=1500 active_sessions=30 *30 @60
--
-- no: load transactions_per_s=100 latency_mean_ms=5 *60
-- no: inside load transactions_per_s=30 latency_mean_ms=40 *30 @60
--
-- no: db commits_per_s=100 rows_returned_per_s=5000 *60
-- no: inside db commits_per_s=30 rows_returned_per_s=1500 *30 @60
-- Where neither the active sessions nor a latency is known, a server that is held up looks the same.
SELECT m.run, m.host, c.summary, least(4, -work) AS weight
FROM moves m JOIN change c ON c.run = m.run AND c.is_first = 1 AND c.means = 'throughput'
WHERE work <= -0.3 AND coalesce(latency, 0) <= 0.15 AND (active <= -0.3 OR active_inside < 1 OR active IS NULL AND latency IS NOT NULL) AND coalesce(cpu_use, 0) <= 0.1
    AND coalesce(locks, 0) <= 0.1 AND coalesce(iowait, 0) <= 0.3 AND coalesce(disk_busy, 0) <= 0.2 AND own_cost < 0.5
    AND coalesce(flushes, 0) < 1 AND coalesce(redo_cost, 0) < 0.5 AND coalesce(misses, 0) <= 0.2
    AND coalesce(retransmits, 0) < 1 AND coalesce(round_trip, 0) < 0.5
ORDER BY weight DESC
