-- title: The load had errors
-- severity: warning
-- section: result
-- message: {generator} had {errors:error|errors}, {share:%} of what it sent.
-- advice: What failed often has a different latency and distort every figure. Check the generator's own output for the failures; retries after deadlocks may be intended.
-- ask: load-throughput
-- comparison: warn
-- impact: share of what was sent
-- world: load
-- yes: load generator=sysbench transactions_per_s=1000 errors_per_s=20 *30
-- no: load generator=sysbench transactions_per_s=1000 errors_per_s=0 *30
-- One in a thousand is where a p99.9 is made of them.
WITH totals AS (
    SELECT run, host, coalesce(generator, 'The generator') AS generator, sum(errors_per_s * dt) AS failed, sum(coalesce(transactions_per_s, requests_per_s) * dt) AS done
    FROM load
    WHERE operation IS NULL
    GROUP BY run, host, generator
)
SELECT run, host, generator, CAST(round(failed) AS BIGINT) AS errors, 100 * failed / nullif(failed + done, 0) AS share
FROM totals
WHERE failed >= 1 AND failed >= 0.001 * done
ORDER BY failed DESC, run, host, generator
