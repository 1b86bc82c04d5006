-- title: Transactions are repeated
-- severity: warning
-- section: result
-- message: {generator} repeated {retries:/s} transactions, for {done:/s} that it completed.
-- advice: They collide with each other (deadlocks, serialization failures, lock time-outs), and each repeat is the work once more: touch what is common last, in one order, or let one statement do it; see which errors the driver counted.
-- ask: load-throughput
-- impact: share of the work
-- part: on CPU; run queue; lock; round trips
-- explains: db-rollbacks, db-errors, db-run-queue, cpu-pressure, cpu-queue
-- world: load
-- yes: load generator=g transactions_per_s=1000 retries_per_s=400 *20
-- no: load generator=g transactions_per_s=1000 retries_per_s=40 *20
--
-- no: load generator=g transactions_per_s=1000 *20
-- A tenth of all attempts.
WITH loads AS (
    SELECT run, host, coalesce(generator, 'The generator') AS generator, wmean(transactions_per_s, dt) AS done, wmean(retries_per_s, dt) AS retries, sum(dt) AS seen_s
    FROM load WHERE operation IS NULL AND retries_per_s IS NOT NULL AND transactions_per_s IS NOT NULL GROUP BY run, host, generator
)
SELECT run, host, generator, retries, done, 100 * retries / (retries + done) AS share
FROM loads
WHERE retries >= 0.1 * (retries + done) AND retries >= 1 AND seen_s >= 3
ORDER BY retries DESC, run, host, generator
