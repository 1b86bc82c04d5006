-- title: The load generator waits for a CPU
-- severity: warning
-- section: result
-- message: {generator} could run and had no CPU for {waited:%} of the time that it wanted one, and started transactions {lag:ms} late on average; {comm} used {used:CPU}.
-- advice: What the generator waits for is in its latencies and not in the server: move it to another machine, or give it separate CPUs (taskset, fenxi load run --pin, fenxi fence).
-- ask: top-processes
-- comparison: warn
-- explains: load-late, offered-rate-missed, cpu-queue, cpu-pressure
-- part: driver lag; waiting for the driver; waiting for a connection
-- world: load
-- yes: sched cpus_online=4 *20
-- yes: load generator=fenxi lag_ms=4 latency_mean_ms=7 *20
-- yes: process pid=7 comm=fenxi cpu=5 run_queue_wait=45 *20
-- yes: process pid=8 comm=backup cpu=100 run_queue_wait=0 *20
-- no: sched cpus_online=4 *20
-- no: load generator=fenxi lag_ms=0.2 latency_mean_ms=7 *20
-- no: process pid=7 comm=fenxi cpu=5 run_queue_wait=45 *20
-- no: process pid=8 comm=backup cpu=100 run_queue_wait=0 *20
--
-- no: sched cpus_online=4 *20
-- no: load generator=fenxi lag_ms=4 latency_mean_ms=7 *20
-- no: process pid=7 comm=fenxi cpu=90 run_queue_wait=8 *20
-- no: process pid=8 comm=backup cpu=100 run_queue_wait=0 *20
-- Late by a millisecond and a fifth of the latency; for half of the time that it wants a CPU, and a twentieth of all time, it has none.
WITH late AS (
    SELECT run, host, any_value(coalesce(generator, 'The generator')) AS generator, wmean(lag_ms, dt) AS lag, wmean(latency_mean_ms, dt) AS takes
    FROM load WHERE operation IS NULL AND lag_ms IS NOT NULL GROUP BY run, host
), drivers AS (
    SELECT run, host, pid, sum(cpu * dt) AS ran, sum(run_queue_wait * dt) AS waited
    FROM process WHERE comm IN (SELECT comm FROM load_driver)
    GROUP BY run, host, pid
    QUALIFY row_number() OVER (PARTITION BY run, host ORDER BY sum((cpu + run_queue_wait) * dt) DESC NULLS LAST) = 1
), others AS (
    SELECT run, host, comm, sum(cpu * dt) AS used
    FROM process WHERE comm <> '(exited)' AND comm NOT IN (SELECT comm FROM load_driver)
    GROUP BY run, host, comm
    QUALIFY row_number() OVER (PARTITION BY run, host ORDER BY sum(cpu * dt) DESC NULLS LAST, comm) = 1
)
SELECT l.run, l.host, l.generator, 100 * d.waited / (d.ran + d.waited) AS waited, l.lag, o.comm, o.used / s.seen_s / 100 AS used
FROM late l
JOIN drivers d ON d.run = l.run AND d.host = l.host
JOIN others o ON o.run = l.run AND o.host = l.host
JOIN host_span s ON s.run = l.run AND s.host = l.host
WHERE l.lag >= 1 AND l.lag >= 0.2 * coalesce(l.takes, 0) AND d.waited >= d.ran AND d.waited >= 5 * s.seen_s AND o.used > 0 AND s.seen_s >= 3
ORDER BY l.lag DESC, l.run, l.host
