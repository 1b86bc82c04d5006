-- title: The way between clients and server is slower
-- severity: warning
-- section: network
-- periods: inside, rest
-- message: {summary}, while the server does nothing more and waits for nothing more.
-- advice: Measure the round trip between both and look for loss, shaping, a full link or another route; then at the clients themselves. Each statement pays one round trip.
-- ask: tcp-health
-- explains: locks-more
-- yes: load transactions_per_s=100 latency_mean_ms=5 *60
-- yes: db active_sessions=5 *60
-- yes: inside load transactions_per_s=30 latency_mean_ms=40 *30 @60
-- yes: inside db active_sessions=2 *30 @60
--
-- yes: db commits_per_s=100 active_sessions=5 row_lock_time=0.5 *60
-- yes: inside db commits_per_s=30 active_sessions=2 row_lock_time=0.5 *30 @60
-- no: db commits_per_s=100 active_sessions=5 row_lock_time=0.5 *60
-- no: inside db commits_per_s=30 active_sessions=2 row_lock_time=0.1 *30 @60
--
-- no: load transactions_per_s=100 latency_mean_ms=5 *60
-- no: inside load transactions_per_s=30 latency_mean_ms=5 *30 @60
--
-- no: load transactions_per_s=100 latency_mean_ms=5 *60
-- no: db active_sessions=5 *60
-- no: inside load transactions_per_s=30 latency_mean_ms=40 *30 @60
-- no: inside db active_sessions=25 *30 @60
-- Without latency, a round trip or retransmits, fewer transactions on an idle server are less load, unless each holds its locks longer
-- although fewer sessions work: it waits for its client between statements.
SELECT m.run, m.host, c.summary, m.severity, least(4, greatest(retransmits, round_trip, latency, locks_cost)) AS weight
FROM moves m JOIN change c ON c.run = m.run AND c.is_first = 1
    AND c.means = CASE WHEN round_trip >= 0.5 THEN 'round_trip' WHEN retransmits >= 1 THEN 'retransmits' WHEN latency IS NOT NULL THEN 'latency' WHEN locks IS NULL THEN 'throughput' ELSE 'locks' END
WHERE m.severity = 'warning' AND own_cost < 0.5 AND coalesce(flushes, 0) < 1 AND coalesce(cpu_use, 0) <= 0.1
    AND (round_trip >= 0.5 OR is_idle AND work <= -1 AND coalesce(nullif(latency, 0), 1) >= 0.3 OR retransmits >= 1 OR work <= -0.25 AND (latency >= 0.3 OR latency IS NULL AND locks_cost >= 0.5 AND active <= -0.2)
        AND coalesce(active, queue, iowait, cpu_use) IS NOT NULL AND coalesce(active, 0) <= 0.2 AND coalesce(locks, 0) <= 0.3
        AND coalesce(iowait, 0) <= 0.3 AND coalesce(disk_busy, 0) <= 0.2 AND coalesce(redo_cost, 0) < 0.5 AND coalesce(misses, 0) <= 0.3)
ORDER BY weight DESC
