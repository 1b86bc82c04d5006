-- title: The rate of context switches is very high
-- severity: warning
-- section: cpu
-- message: There were {switches:/s} context switches, {per_cpu:/s} on each of {cpus} CPUs.
-- advice: Look for lock contention, for threads that wake each other for tiny pieces of work, and for far more threads than CPUs. Compare with the request rate: a few switches per request are normal.
-- ask: scheduler-rates
-- kind: symptom
-- names: switching, lock
-- causes: threads-take-turns (one lock), tiny-calls (tiny reads and writes), many-forks (new processes)
-- yes: sched context_switches_per_s=400000 cpus_online=4 *30
-- no: sched context_switches_per_s=20000 cpus_online=4 *30
--
-- no: sched context_switches_per_s=400000 *30
--
-- fact: sched context_switches_per_s=110000 cpus_online=2 *30
-- fact: load generator=fenxi transactions_per_s=33000 *30
--
-- fact: sched context_switches_per_s=120000 cpus_online=2 *30
-- fact: load generator=fenxi transactions_per_s=6000 requests_per_s=42000 *30
--
-- yes: sched context_switches_per_s=400000 cpus_online=4 *30
-- yes: load generator=fenxi transactions_per_s=6000 requests_per_s=42000 *30
-- A switch costs one to some microseconds with its cold caches: 50000 a second are about a tenth of a CPU or more. Where the transactions of a load are known, up to ten for each, or four for each
-- request of theirs, are what questions and answers take: a fact.
WITH hosts AS (
    SELECT run, host, wmean(context_switches_per_s, dt) AS switches, CAST(max(cpus_online) AS BIGINT) AS cpus, sum(dt) AS seen_s
    FROM sched
    GROUP BY run, host
), loads AS (
    SELECT run, wmean(greatest(10 * coalesce(transactions_per_s, 0), 4 * coalesce(requests_per_s, 0)), dt) AS usual FROM load WHERE operation IS NULL GROUP BY run
)
SELECT h.run, host, switches, switches / nullif(cpus, 0) AS per_cpu, cpus, CASE WHEN switches <= usual THEN 'info' ELSE 'warning' END AS severity
FROM hosts h LEFT JOIN loads l ON l.run = h.run
WHERE switches / nullif(cpus, 0) >= 50000 AND seen_s >= 3
ORDER BY per_cpu DESC, h.run, host
