-- title: Database sessions wait for a CPU
-- severity: warning
-- section: database
-- message: On average {queued} sessions of {server} were runnable without a CPU, beside {running:CPU} that ran.
-- advice: All times that the server measures contain this queue: a slow statement may only be waiting for its turn. Look for other programs on the CPUs (fenxi ask top-processes), for bindings and quotas, and for more sessions than CPUs.
-- ask: db-time
-- kind: symptom
-- part: run queue
-- names: process
-- causes: cpu-neighbour (another program), bound-to-cpus (CPUs that a program may not use), cgroup-throttled (a CPU quota), db-one-statement (one statement)
-- world: database
-- yes: db_wait server=localhost activity=cpu wait_event=cpu kind=client measured=os time=1.3 *60
-- yes: db_wait server=localhost activity="run queue" wait_event="run queue" kind=client measured=os time=1.8 *60
-- no: db_wait server=localhost activity=cpu wait_event=cpu kind=client measured=os time=9 *60
-- no: db_wait server=localhost activity="run queue" wait_event="run queue" kind=client measured=os time=0.8 *60
--
-- no: db_wait server=localhost activity=cpu wait_event=cpu kind=client measured=os time=0.1 *60
-- no: db_wait server=localhost activity="run queue" wait_event="run queue" kind=client measured=os time=0.1 *60
--
-- fact: db_wait server=localhost activity=cpu wait_event=cpu kind=client measured=os time=0.9 *60
-- fact: db_wait server=localhost activity="run queue" wait_event="run queue" kind=client measured=os time=0.8 *60
-- fact: cpu usr=30 sys=35 idle=35 *60
-- Half a session and a quarter of what ran or wanted to: a healthy server has some percent. Below 85 % the CPUs have room: a fact, as
-- quotas and bindings, for which a server waits then, have findings.
WITH work AS (
    SELECT run, host, server, coalesce(sum(sessions) FILTER (activity = 'run queue'), 0) AS queued, coalesce(sum(sessions) FILTER (activity = 'cpu'), 0) AS running, max(seen_s) AS seen_s
    FROM db_best_wait
    WHERE kind = 'client' AND measured IN ('os', 'exact')
    GROUP BY run, host, server
)
SELECT w.run, w.host, server, queued, running, CASE WHEN c.busy < 85 THEN 'info' ELSE 'warning' END AS severity
FROM work w LEFT JOIN cpu_mean c ON c.run = w.run AND c.host = w.host
WHERE queued >= 0.5 AND queued >= 0.25 * (queued + running) AND seen_s >= 5
ORDER BY queued DESC, w.run, w.host, server
