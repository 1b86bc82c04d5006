-- title: The run queue exceeds the number of CPUs
-- severity: warning
-- section: cpu
-- message: On average {queue} tasks were runnable on {cpus} CPUs; for {long_s:s} of {seen_s:s} more than twice as many as CPUs.
-- advice: The CPUs are saturated. Check which processes use them, and whether so many tasks are intended; a batch job that fills the machine on purpose is harmless.
-- ask: run-queue
-- kind: symptom
-- part: run queue
-- impact: long_s / seen_s of the time
-- names: queued, process, function
-- causes: bound-to-cpus (CPUs that a program may not use), steal (time that the hypervisor took), cpu-neighbour (another program), short-processes (processes that live shortly)
-- yes: sched runnable=12 cpus_online=4 *30
-- no: sched runnable=3 cpus_online=4 *30
--
-- no: sched runnable=30 cpus_online=4 *2
-- no: sched runnable=1 cpus_online=4 *28 @2
--
-- no: sched runnable=30 *30
--
-- yes: sched runnable=12 *30
-- yes: cpu cpu=0 usr=99 idle=1 *30
-- yes: cpu cpu=1 usr=99 idle=1 *30
-- no: sched runnable=12 *30
-- no: cpu cpu=3 usr=99 idle=1 *30
-- no: cpu cpu=17 usr=99 idle=1 *30
--
-- fact: sched runnable=5 cpus_online=2 *30
-- fact: cpu usr=30 sys=35 idle=35 *30
-- The run queue above the number of CPUs is saturation in the USE method. The gauge is one moment a sample, so that
-- only a mean above the CPUs counts together with a tenth of the run beyond twice as many.
-- Tables of single CPUs give their number, unless some are left out.
-- Below 85 % the CPUs have room, and the moments of the samples had more than others: a fact.
-- Where the recorder started a command, or observed a database, that waited for a CPU hardly ever, it is what others had: a fact.
WITH queues AS (
    SELECT run, host, wmean(queue, dt) AS queue, CAST(max(cpus) AS BIGINT) AS cpus,
        sum(CASE WHEN queue > 2 * cpus THEN dt ELSE 0 END) AS long_s, sum(dt) AS seen_s
    FROM cpu_demand
    GROUP BY run, host
)
SELECT q.run, q.host, queue, cpus, long_s, seen_s, CASE WHEN m.cpu < 5 OR c.busy < 85 THEN 'info' ELSE 'warning' END AS severity
FROM queues q LEFT JOIN measured_wait m ON m.run = q.run AND m.host = q.host LEFT JOIN cpu_mean c ON c.run = q.run AND c.host = q.host
WHERE queue > cpus AND long_s >= 0.1 * seen_s AND long_s >= 3
ORDER BY queue / cpus DESC, q.run, q.host
