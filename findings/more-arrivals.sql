-- title: More work arrives
-- severity: warning
-- section: result
-- periods: inside, rest
-- message: {summary}: more is asked for than in the rest, and each transaction costs about what it did.
-- advice: See who sends it and whether the machine is meant to carry it: sessions by application, the load's schedule, retries that multiply. Harmless where latency stays.
-- ask: db-throughput
-- explains: locks-more, cache-misses-more, outside-load, outside-disk, index-write-cost, disk-slower, cpu-busier
-- yes: db commits_per_s=100 sessions=20 *60
-- yes: inside db commits_per_s=300 sessions=60 *30 @60
--
-- yes: load transactions_per_s=100 latency_mean_ms=4 clients=20 *60
-- yes: inside load transactions_per_s=105 latency_mean_ms=9 clients=60 *30 @60
-- no: db commits_per_s=300 sessions=20 *60
-- no: inside db commits_per_s=100 sessions=20 *30 @60
--
-- no: db commits_per_s=300 sessions=20 rows_inserted_per_s=300 *60
-- no: inside db commits_per_s=40 sessions=60 rows_inserted_per_s=3000 *30 @60
-- Sessions that pile up while less is done are a consequence; that is why they count only where throughput stays.
SELECT m.run, m.host, c.summary, CASE WHEN coalesce(latency, 1) >= 0.2 THEN 'warning' ELSE 'info' END AS severity,
    least(4, greatest(work, coalesce(sessions, active, 0))) AS weight
FROM moves m JOIN change c ON c.run = m.run AND c.is_first = 1
    AND c.means = CASE WHEN work >= 0.3 THEN 'throughput' WHEN sessions IS NULL THEN 'active' ELSE 'sessions' END
WHERE work >= 0.3 AND NOT (coalesce(sent_cost, -1) <= -0.5 AND EXISTS (SELECT 1 FROM change x WHERE x.run = m.run AND x.means = 'reads' AND x.cost <= -1 AND x.change <= -0.5)) OR sessions >= 0.4 AND throughput > -0.3
    OR sessions IS NULL AND active >= 0.7 AND throughput > -0.2 AND waiting_rest >= greatest(2, 0.5 * active_rest) AND waiting_inside - waiting_rest >= 0.7 * (active_inside - active_rest)
        AND coalesce(misses_cost, 0) < 0.5 AND own_cost < 0.5
ORDER BY weight DESC
