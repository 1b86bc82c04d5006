-- title: The run queue exceeds the number of CPUs
-- severity: warning
-- section: cpu
-- says: On average {queue} tasks were runnable on {cpus} CPUs; for {long_s:s} of {seen_s:s} more than twice as many as CPUs.
-- advice: The CPUs are saturated. Check which processes use them, and whether so many tasks are intended; a batch job that fills the machine on purpose is harmless.
-- ask: run-queue
-- kind: symptom
-- part: run queue
-- impact: long_s / seen_s of the time
-- yes: sched runnable=12 cpus_online=4 *30
-- no: sched runnable=3 cpus_online=4 *30
--
-- no: sched runnable=30 cpus_online=4 *2
-- no: sched runnable=1 cpus_online=4 *28 @2
--
-- no: sched runnable=30 *30
-- The run queue above the number of CPUs is saturation in the USE method. The gauge is one moment a sample, so that
-- only a mean above the CPUs counts together with a tenth of the run beyond twice as many.
WITH queues AS (
    SELECT run, host, wmean(runnable, dt) AS queue, CAST(max(cpus_online) AS BIGINT) AS cpus,
        sum(CASE WHEN runnable > 2 * cpus_online THEN dt ELSE 0 END) AS long_s, sum(dt) AS seen_s
    FROM sched
    GROUP BY run, host
)
SELECT run, host, queue, cpus, long_s, seen_s
FROM queues
WHERE queue > cpus AND long_s >= 0.1 * seen_s AND long_s >= 3
ORDER BY queue / cpus DESC, run, host
