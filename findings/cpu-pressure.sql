-- title: Tasks stalled for lack of CPU
-- severity: warning
-- section: cpu
-- message: For {stalled:%} of the time at least one task was runnable without a CPU.
-- advice: Check which processes wait (run_queue_wait of `process`) and which cgroups have a quota. Batch work at low priority may wait without harm.
-- ask: pressure-timeline
-- kind: symptom
-- part: run queue
-- impact: stalled of the time
-- names: queued, process, function
-- causes: bound-to-cpus (CPUs that a program may not use), cgroup-throttled (a CPU quota), steal (time that the hypervisor took), cpu-neighbour (another program), one-thread-saturated (one thread)
-- yes: pressure resource=cpu some=60 *30
-- no: pressure resource=cpu some=8 *30
--
-- no: pressure resource=memory some=60 *30
--
-- fact: pressure resource=cpu some=40 *30
-- fact: cpu usr=30 sys=35 idle=35 *30
--
-- yes: pressure resource=cpu some=40 *30
-- yes: cpu usr=60 sys=35 idle=5 *30
--
-- no: pressure resource=cpu some=90 *2
-- no: pressure resource=cpu some=0 *28 @2
-- PSI counts also the microseconds before a wake-up is served, so that a few percent are normal; a quarter of the
-- whole run is not.
-- Below 85 % the CPUs have room: what waits then waits for microseconds, or for a CPU that it may not use, which has other findings. That is a fact. Not where somebody waited for three fifths of it.
-- Where the recorder started a command, or observed a database, that waited for a CPU hardly ever, it is what others had: a fact.
SELECT p.run, p.host, wmean(p.some, dt) AS stalled, CASE WHEN any_value(m.cpu) < 5 OR (any_value(c.busy) < 85 AND wmean(p.some, dt) < 60) THEN 'info' ELSE 'warning' END AS severity
FROM pressure p LEFT JOIN measured_wait m ON m.run = p.run AND m.host = p.host LEFT JOIN cpu_mean c ON c.run = p.run AND c.host = p.host
WHERE resource = 'cpu'
GROUP BY p.run, p.host
HAVING wmean(p.some, dt) >= 25 AND sum(dt) >= 3
ORDER BY stalled DESC, p.run, p.host
