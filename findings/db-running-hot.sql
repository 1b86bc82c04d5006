-- title: Many sessions run at once
-- severity: info
-- section: database
-- message: For {hot_s:s} more than 25 sessions of {server} were active, {most} at most.
-- advice: Beyond some sessions for each CPU throughput falls and latency grows: see what they wait for (fenxi ask db-time), and limit them with a pool.
-- ask: db-activity
-- kind: symptom
-- names: statement, db-wait
-- causes: db-lock-waits (locks), db-contention (latches), db-run-queue (a queue for CPUs), db-one-statement (one statement)
-- world: database
-- yes: db server=localhost samples=10 active_sampled=40 *30
-- no: db server=localhost samples=10 active_sampled=12 *30
--
-- no: db server=localhost samples=10 active_sampled=12 *28
-- no: db server=localhost samples=10 active_sampled=40 *2 @28
-- What triggers pt-stalk by default: 25 running threads, five times in a row.
SELECT run, host, server, sum(dt) FILTER (active_sampled > 25) AS hot_s, max(active_sampled) AS most
FROM db
GROUP BY run, host, server
HAVING sum(dt) FILTER (active_sampled > 25) >= 5
ORDER BY most DESC, run, host, server
