-- title: A program sleeps between its steps
-- severity: warning
-- section: process
-- message: {waiting} threads of {comm} slept on average, {share:%} of their time{often}.
-- advice: It waits by the clock (sleep, usleep, nanosleep): a pause between retries, a loop that polls, a delay that was left in. What it waits for may have been ready long before: wait for the event itself (a condition, epoll, inotify), or shorten the pause. Harmless where the pace is meant.
-- ask: thread-waits
-- explains: waits-for-peer, short-processes, many-forks
-- impact: share of its threads' time
-- yes: sched cpus_online=4 *20
-- yes: process pid=7 comm=app cpu=10 voluntary_switches_per_s=30 *20
-- yes: thread_wait pid=7 comm=app wait=sleep function=hrtimer_nanosleep threads=0.9 role=command *20
-- yes: thread_wait pid=7 comm=app wait=run threads=0.1 role=command *20
--
-- yes: sched cpus_online=4 *20
-- yes: process pid=7 comm=bash cpu=10 voluntary_switches_per_s=30 *20
-- yes: thread_wait pid=7 comm=bash wait=child function=do_wait threads=1 role=command *20
-- yes: thread_wait pid=8 comm=sleep wait=sleep function=hrtimer_nanosleep threads=1 role=command *1
-- yes: thread_wait pid=9 comm=sleep wait=sleep function=hrtimer_nanosleep threads=1 role=command *1 @1
-- yes: thread_wait pid=10 comm=sleep wait=sleep function=hrtimer_nanosleep threads=1 role=command *1 @2
-- yes: thread_wait pid=11 comm=sleep wait=sleep function=hrtimer_nanosleep threads=1 role=command *17 @3
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
--
-- no: sched cpus_online=4 *20
-- no: process pid=7 comm=server cpu=10 threads=8 voluntary_switches_per_s=130 *20
-- no: thread_wait pid=7 comm=server wait=sleep function=hrtimer_nanosleep threads=1 role=command *20
--
-- no: sched cpus_online=4 *20
-- no: thread_wait pid=8 comm=sleep wait=sleep function=hrtimer_nanosleep threads=1 role=command *20
-- Half of the time of half of its threads (a few samples give it to a tenth), so that no thread counts that looks after the others (as in the runtime of Go), in pauses of
-- less than half a second: who sleeps for seconds waits for nothing. Processes of `sleep` count where one follows the other. Only what
-- the recorder started, and no load driver, whose pauses are the rate that was asked for.
WITH programs AS (
    SELECT run, host, comm, sum(threads) FILTER (wait = 'sleep') AS waiting, sum(threads) AS at_work, sum(looks) FILTER (wait = 'sleep') AS looks,
        count(DISTINCT pid) FILTER (wait = 'sleep') AS processes
    FROM thread_wait_mean
    WHERE role = 'command' AND seen_s >= 3 AND comm NOT IN (SELECT comm FROM load_driver)
    GROUP BY run, host, comm
), commands AS (
    SELECT DISTINCT run, host, pid FROM thread_wait WHERE role = 'command'
), spans AS (
    SELECT run, host, sum(dt) AS seen_s FROM sched GROUP BY run, host
), switches AS (
    SELECT p.run, p.host, p.comm, sum(p.voluntary_switches_per_s * p.dt) / any_value(s.seen_s) AS wakes, sum(coalesce(p.threads, 1) * p.dt) / any_value(s.seen_s) AS threads
    FROM process p
    JOIN commands c ON c.run = p.run AND c.host = p.host AND c.pid = p.pid
    JOIN spans s ON s.run = p.run AND s.host = p.host
    GROUP BY p.run, p.host, p.comm
)
SELECT p.run, p.host, p.comm, steady(p.waiting) AS waiting, 100 * p.waiting / p.at_work AS share,
    CASE WHEN p.comm = 'sleep' THEN ', one process after the other' ELSE ', and woke ' || CAST(round(w.wakes) AS BIGINT) || ' times a second' END AS often
FROM programs p
LEFT JOIN switches w ON w.run = p.run AND w.host = p.host AND w.comm = p.comm
WHERE p.waiting >= 0.4 AND p.waiting >= 0.45 * p.at_work AND p.looks >= 3
    AND CASE WHEN p.comm = 'sleep' THEN p.processes >= 4 ELSE w.wakes >= 2 * p.waiting AND p.waiting >= 0.45 * w.threads END
ORDER BY p.waiting DESC, p.run, p.host, p.comm
