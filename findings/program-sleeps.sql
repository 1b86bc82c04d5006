-- title: A program sleeps between its steps
-- severity: warning
-- section: process
-- says: {waiting} threads of {comm} slept on average, {share:%} of their time, and woke {wakes:/s}.
-- advice: It waits by the clock (sleep, usleep, nanosleep): a pause between retries, a loop that polls, a delay that was left in. What it waits for may have been ready long before: wait for the event itself (a condition, epoll, inotify), or shorten the pause. Harmless where the pace is meant.
-- ask: thread-waits
-- explains: waits-for-peer
-- impact: share of its threads' time
-- yes: sched cpus_online=4 *20
-- yes: process pid=7 comm=app cpu=10 voluntary_switches_per_s=30 *20
-- yes: thread_wait pid=7 comm=app wait=sleep function=hrtimer_nanosleep threads=0.9 role=command *20
-- yes: thread_wait pid=7 comm=app wait=run threads=0.1 role=command *20
-- no: sched cpus_online=4 *20
-- no: process pid=7 comm=app cpu=10 voluntary_switches_per_s=1 *20
-- no: thread_wait pid=7 comm=app wait=sleep function=hrtimer_nanosleep threads=0.9 role=command *20
--
-- no: sched cpus_online=4 *20
-- no: process pid=7 comm=app cpu=90 voluntary_switches_per_s=30 *20
-- no: thread_wait pid=7 comm=app wait=sleep function=hrtimer_nanosleep threads=0.2 role=command *20
-- no: thread_wait pid=7 comm=app wait=run threads=0.8 role=command *20
--
-- no: sched cpus_online=4 *20
-- no: process pid=7 comm=daemon cpu=10 voluntary_switches_per_s=30 *20
-- no: thread_wait pid=7 comm=daemon wait=sleep function=hrtimer_nanosleep threads=0.9 *20
-- Half of its time, in pauses of less than half a second: who sleeps for seconds waits for nothing. Only what the recorder started, and
-- no load driver, whose pauses are the rate that was asked for.
WITH programs AS (
    SELECT run, host, comm, sum(threads) FILTER (wait = 'sleep') AS waiting, sum(threads) AS at_work, max(looks) FILTER (wait = 'sleep') AS looks
    FROM thread_wait_mean
    WHERE role = 'command' AND seen_s >= 3 AND comm NOT IN ('sleep', 'fenxi', 'pgbench', 'sysbench', 'wrk', 'wrk2', 'mysqlslap', 'fio', 'iperf3', 'netperf', 'redis-benchmark')
    GROUP BY run, host, comm
), switches AS (
    SELECT p.run, p.host, p.comm, sum(p.voluntary_switches_per_s * p.dt) AS all_of FROM process p GROUP BY p.run, p.host, p.comm
), spans AS (
    SELECT run, host, sum(dt) AS seen_s FROM sched GROUP BY run, host
)
SELECT p.run, p.host, p.comm, steady(p.waiting) AS waiting, 100 * p.waiting / p.at_work AS share, w.all_of / s.seen_s AS wakes
FROM programs p
JOIN switches w ON w.run = p.run AND w.host = p.host AND w.comm = p.comm
JOIN spans s ON s.run = p.run AND s.host = p.host
WHERE p.waiting >= 0.4 AND p.waiting >= 0.5 * p.at_work AND p.looks >= 3 AND w.all_of / s.seen_s >= 2 * p.waiting
ORDER BY p.waiting DESC, p.run, p.host, p.comm
