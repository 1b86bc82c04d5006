-- title: How many sessions of a database were active, and in what?
-- about: Mean active client sessions by class. CPU and run queue are the kernel's where the server runs on this host, else assumed from samples. Above the number of CPUs (cpus) the machine cannot follow; idle in transaction is no work, but holds locks.
-- section: database
-- chart: stacked
-- x: t
-- y: on_cpu, run_queue, user_io, system_io, commit_wait, concurrency, lock_wait, ipc, client, timeout, extension, other, idle_in_transaction
-- lines: cpus
-- series: server
-- unit: s/s
-- order: 1
-- param: server = '', only of this server
WITH moments AS (
    SELECT run, host, server, t, max(dt) AS dt
    FROM (
        SELECT run, host, server, t, dt FROM db WHERE samples > 0 AND db.database IS NULL
        UNION ALL SELECT run, host, server, t, dt FROM db_best_wait
    )
    GROUP BY run, host, server, t
), at_work AS (
    SELECT run, host, server, t, activity, sum(w.time) AS spent
    FROM db_best_wait w
    WHERE kind = 'client'
    GROUP BY run, host, server, t, activity
)
SELECT m.run, m.host, m.t, max(m.dt) AS dt, m.server,
    coalesce(sum(spent) FILTER (activity = 'cpu'), 0) AS on_cpu,
    coalesce(sum(spent) FILTER (activity = 'run queue'), 0) AS run_queue,
    coalesce(sum(spent) FILTER (activity = 'user io'), 0) AS user_io,
    coalesce(sum(spent) FILTER (activity = 'system io'), 0) AS system_io,
    coalesce(sum(spent) FILTER (activity = 'commit'), 0) AS commit_wait,
    coalesce(sum(spent) FILTER (activity = 'concurrency'), 0) AS concurrency,
    coalesce(sum(spent) FILTER (activity = 'lock'), 0) AS lock_wait,
    coalesce(sum(spent) FILTER (activity = 'ipc'), 0) AS ipc,
    coalesce(sum(spent) FILTER (activity = 'client'), 0) AS client,
    coalesce(sum(spent) FILTER (activity = 'timeout'), 0) AS timeout,
    coalesce(sum(spent) FILTER (activity = 'extension'), 0) AS extension,
    coalesce(sum(spent) FILTER (activity IN ('replication', 'other')), 0) AS other,
    coalesce(sum(spent) FILTER (activity = 'idle in transaction'), 0) AS idle_in_transaction,
    max(s.cpus) AS cpus
FROM moments m
LEFT JOIN at_work w ON w.run = m.run AND w.host = m.host AND w.server IS NOT DISTINCT FROM m.server AND w.t = m.t
LEFT JOIN db_server s ON s.run = m.run AND s.host = m.host AND s.server IS NOT DISTINCT FROM m.server
WHERE $server IN ('', m.server)
GROUP BY m.run, m.host, m.server, m.t
ORDER BY m.run, m.host, m.server, m.t
