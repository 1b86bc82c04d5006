-- title: Throughput stalled
-- severity: warning
-- section: result
-- message: {generator} completed less than a tenth of its median {usual:/s} for {still_s:s} of {seen_s:s}.
-- advice: Find out what happened then: a checkpoint, a lock, a flush, a garbage collection pause. Means hide such seconds, users notice them.
-- ask: load-throughput
-- kind: symptom
-- impact: still_s / seen_s of the time
-- names: flush
-- causes: db-checkpoints-requested (checkpoints), writes-throttled (dirty pages), flush-waits (flushes), db-lock-waits (locks), disk-slow-stretch (a disk that stalled), memory-stalls (reclaim of memory)
-- world: load
-- yes: load generator=sysbench transactions_per_s=1000 *50
-- yes: load generator=sysbench transactions_per_s=0 *4 @50
-- yes: load generator=sysbench transactions_per_s=1000 *10 @54
-- no: load generator=sysbench transactions_per_s=1000 *60
--
-- no: load generator=sysbench transactions_per_s=3 *50
-- no: load generator=sysbench transactions_per_s=0 *4 @50
--
-- no: load generator=hammerdb transactions_per_s=0 dt=10 *2
-- no: load generator=hammerdb transactions_per_s=2600 dt=10 *6 @20
--
-- no: load generator=hammerdb transactions_per_s=2600 dt=10 *2
-- no: load generator=hammerdb transactions_per_s=0 dt=10 @20
-- no: load generator=hammerdb transactions_per_s=2600 dt=10 @30
--
-- yes: load generator=g offered_per_s=1000 transactions_per_s=1000 *50
-- yes: load generator=g offered_per_s=1000 transactions_per_s=0 *4 @50
-- yes: load generator=g offered_per_s=1000 transactions_per_s=3000 *10 @54
-- no: load generator=g offered_per_s=1000 transactions_per_s=1000 *50
-- no: load generator=g offered_per_s=25 transactions_per_s=25 *4 @50
-- no: load generator=g offered_per_s=1000 transactions_per_s=1000 *10 @54
-- Where little is asked for, little is done.
-- A tenth of the median, for two seconds together; what has not begun does not stall, and a median is of five moments at least; below 10 a second, moments without any are chance. The last sample of a
-- generator is often shorter and is ignored.
WITH moments AS (
    SELECT run, host, coalesce(generator, 'The generator') AS generator, t, dt, transactions_per_s AS done, offered_per_s AS offered,
        median(transactions_per_s) OVER (PARTITION BY run, host, generator) AS usual,
        row_number() OVER (PARTITION BY run, host, generator ORDER BY t DESC) AS from_end
    FROM load
    WHERE operation IS NULL AND transactions_per_s IS NOT NULL
), begun AS (
    SELECT *, done < 0.1 * usual AND coalesce(done < 0.5 * offered, true) AS is_still, max(CASE WHEN done >= 0.1 * usual THEN 1 ELSE 0 END) OVER (PARTITION BY run, host, generator ORDER BY t) AS is_begun FROM moments
)
SELECT run, host, generator, any_value(usual) AS usual, sum(CASE WHEN is_begun = 1 AND is_still THEN dt ELSE 0 END) AS still_s, sum(dt) AS seen_s
FROM begun
WHERE from_end > 1
GROUP BY run, host, generator
HAVING any_value(usual) >= 10 AND sum(CASE WHEN is_begun = 1 AND is_still THEN dt ELSE 0 END) >= 2 AND count(*) >= 5
ORDER BY still_s DESC, run, host, generator
