-- title: Threads of a program take turns on a lock
-- severity: warning
-- section: process
-- message: Of {working} threads of {comm} ({place}) that worked, {waiting} waited for a lock on average; together they used {cpu:%} of one CPU[, and who held it waited itself ({held})][; one of them flushed a file for {flushed:%} of the time][; they contend in {function}].
-- advice: One lock lets one thread work at a time, so that more threads or CPUs do not help. Find it with `fenxi trace plockstat -p PID`, then hold it for less, split it, or work without it. Sleep, read, write and flush without it.
-- ask: thread-waits
-- explains: context-switch-storm, sys-time-high, one-cpu-saturated
-- impact: share of its threads' time
-- names: lock
-- yes: sched cpus_online=4 *20
-- yes: cpu usr=25 idle=75 *20
-- yes: process pid=7 comm=app cpu=100 threads=9 *20
-- yes: thread_wait pid=7 comm=app wait=lock function=futex_do_wait threads=6 *20
-- yes: thread_wait pid=7 comm=app wait=run threads=1 *20
--
-- yes: sched cpus_online=4 *20
-- yes: process pid=7 comm=app cpu=35 threads=1 voluntary_switches_per_s=90 *20
-- yes: process pid=8 comm=app cpu=35 threads=1 voluntary_switches_per_s=90 *20
-- yes: process pid=9 comm=app cpu=35 threads=1 voluntary_switches_per_s=90 *20
-- yes: thread_wait pid=7 comm=app wait=lock function=futex_do_wait threads=0.6 role=command *20
-- yes: thread_wait pid=8 comm=app wait=lock function=futex_do_wait threads=0.6 role=command *20
-- yes: thread_wait pid=9 comm=app wait=lock function=futex_do_wait threads=0.6 role=command *20
-- yes: thread_wait pid=7 comm=app wait=run threads=0.4 role=command *20
-- yes: thread_wait pid=8 comm=app wait=run threads=0.4 role=command *20
-- yes: thread_wait pid=9 comm=app wait=run threads=0.4 role=command *20
--
-- yes: sched cpus_online=4 *20
-- yes: process pid=6 comm=app cpu=0 threads=1 voluntary_switches_per_s=0 *20
-- yes: process pid=7 comm=app cpu=40 run_queue_wait=5 threads=1 voluntary_switches_per_s=90 *20
-- yes: process pid=8 comm=app cpu=30 run_queue_wait=5 threads=1 voluntary_switches_per_s=90 *20
-- yes: process pid=9 comm=app cpu=30 run_queue_wait=5 threads=1 voluntary_switches_per_s=90 *20
-- yes: thread_wait pid=6 comm=app wait=child function=do_wait threads=1 role=command *20
-- yes: thread_wait pid=7 comm=app wait=lock function=futex_do_wait threads=0.4 role=command *20
-- yes: thread_wait pid=8 comm=app wait=lock function=futex_do_wait threads=0.4 role=command *20
-- yes: thread_wait pid=9 comm=app wait=lock function=futex_do_wait threads=0.4 role=command *20
-- yes: thread_wait pid=7 comm=app wait=run threads=0.6 role=command *20
-- yes: thread_wait pid=8 comm=app wait=run threads=0.6 role=command *20
-- yes: thread_wait pid=9 comm=app wait=run threads=0.6 role=command *20
--
-- no: sched cpus_online=4 *20
-- no: process pid=7 comm=app cpu=40 run_queue_wait=55 threads=1 voluntary_switches_per_s=90 *20
-- no: process pid=8 comm=app cpu=40 run_queue_wait=55 threads=1 voluntary_switches_per_s=90 *20
-- no: process pid=9 comm=app cpu=40 run_queue_wait=55 threads=1 voluntary_switches_per_s=90 *20
-- no: thread_wait pid=7 comm=app wait=lock function=futex_do_wait threads=0.1 role=command *20
-- no: thread_wait pid=8 comm=app wait=lock function=futex_do_wait threads=0.1 role=command *20
-- no: thread_wait pid=9 comm=app wait=lock function=futex_do_wait threads=0.1 role=command *20
-- no: thread_wait pid=7 comm=app wait=run threads=0.9 role=command *20
-- no: thread_wait pid=8 comm=app wait=run threads=0.9 role=command *20
-- no: thread_wait pid=9 comm=app wait=run threads=0.9 role=command *20
--
-- no: sched cpus_online=4 *20
-- no: process pid=7 comm=app cpu=60 run_queue_wait=5 threads=1 voluntary_switches_per_s=90 *20
-- no: process pid=8 comm=app cpu=10 run_queue_wait=1 threads=1 voluntary_switches_per_s=90 *4
-- no: process pid=9 comm=app cpu=10 run_queue_wait=1 threads=1 voluntary_switches_per_s=90 *4
-- no: thread_wait pid=7 comm=app wait=run threads=0.7 role=command *20
-- no: thread_wait pid=7 comm=app wait=lock function=futex_do_wait threads=0.3 role=command *20
-- no: thread_wait pid=8 comm=app wait=lock function=futex_do_wait threads=1 role=command *4
-- no: thread_wait pid=9 comm=app wait=lock function=futex_do_wait threads=1 role=command *4
--
-- no: sched cpus_online=4 *20
-- no: process pid=7 comm=app cpu=100 threads=1 voluntary_switches_per_s=90 *20
-- no: process pid=8 comm=app cpu=1 threads=1 voluntary_switches_per_s=2 *20
-- no: process pid=9 comm=app cpu=1 threads=1 voluntary_switches_per_s=2 *20
-- no: thread_wait pid=7 comm=app wait=run threads=1 role=command *20
-- no: thread_wait pid=8 comm=app wait=lock function=futex_do_wait threads=1 role=command *20
-- no: thread_wait pid=9 comm=app wait=lock function=futex_do_wait threads=1 role=command *20
--
-- no: sched cpus_online=4 *20
-- no: cpu usr=5 idle=95 *20
-- no: process pid=7 comm=idler cpu=10 threads=9 *20
-- no: thread_wait pid=7 comm=idler wait=lock function=futex_do_wait threads=6 *20
--
-- no: sched cpus_online=4 *20
-- no: cpu usr=90 idle=10 *20
-- no: process pid=7 comm=full cpu=360 threads=9 *20
-- no: thread_wait pid=7 comm=full wait=lock function=futex_do_wait threads=2 *20
-- no: thread_wait pid=7 comm=full wait=run threads=4 *20
--
-- no: sched cpus_online=4 *20
-- no: cpu usr=25 idle=75 *20
-- no: process pid=7 comm=server cpu=100 threads=9 *20
-- no: thread_wait pid=7 comm=server wait=receive function=wait_woken threads=7 *20
-- no: thread_wait pid=7 comm=server wait=lock function=futex_do_wait threads=0.5 *20
--
-- yes: sched cpus_online=4 *20
-- yes: process pid=7 comm=app cpu=160 threads=9 *20
-- yes: thread_wait pid=7 comm=app wait=lock function=futex_do_wait threads=6 mutex=5 *20
-- yes: thread_wait pid=7 comm=app wait=run threads=1.6 *20
--
-- no: sched cpus_online=4 *20
-- no: process pid=7 comm=pool cpu=160 threads=9 *20
-- no: thread_wait pid=7 comm=pool wait=lock function=futex_do_wait threads=6 mutex=0 *20
-- no: thread_wait pid=7 comm=pool wait=run threads=1.6 *20
--
-- no: sched cpus_online=4 *20
-- no: process pid=7 comm=pool cpu=60 threads=9 *20
-- no: thread_wait pid=7 comm=pool wait=lock function=futex_do_wait threads=6 mutex=0 *20
-- no: thread_wait pid=7 comm=pool wait=run threads=0.6 *20
--
-- no: sched cpus_online=4 *20
-- no: process pid=7 comm=pool cpu=100 threads=9 *20
-- no: thread_wait pid=7 comm=pool wait=lock function=futex_do_wait threads=6 mutex=0 *20
-- no: thread_wait pid=7 comm=pool wait=sleep function=hrtimer_nanosleep threads=1 progress=0.01 *20
-- no: thread_wait pid=7 comm=pool wait=run threads=1 *20
--
-- no: sched cpus_online=4 *20
-- no: process pid=7 comm=pool cpu=20 threads=9 *10
-- no: process pid=7 comm=pool cpu=180 threads=9 *10 @10
-- no: thread_wait pid=7 comm=pool wait=lock function=futex_do_wait threads=6 mutex=0 *20
-- no: thread_wait pid=7 comm=pool wait=run threads=1 *20
--
-- yes: sched cpus_online=4 *20
-- yes: process pid=6 comm=other cpu=60 threads=1 voluntary_switches_per_s=90 *20
-- yes: process pid=5 comm=other cpu=60 threads=1 voluntary_switches_per_s=90 *20
-- yes: process pid=4 comm=other cpu=60 threads=1 voluntary_switches_per_s=90 *20
-- yes: thread_wait pid=6 comm=other wait=run threads=0.6 role=command *20
-- yes: thread_wait pid=5 comm=other wait=run threads=0.6 role=command *20
-- yes: thread_wait pid=4 comm=other wait=run threads=0.6 role=command *20
-- yes: process pid=7 comm=app cpu=35 threads=1 voluntary_switches_per_s=90 *20
-- yes: process pid=8 comm=app cpu=35 threads=1 voluntary_switches_per_s=90 *20
-- yes: process pid=9 comm=app cpu=35 threads=1 voluntary_switches_per_s=90 *20
-- yes: thread_wait pid=7 comm=app wait=lock function=futex_do_wait threads=0.6 role=command *20
-- yes: thread_wait pid=8 comm=app wait=lock function=futex_do_wait threads=0.6 role=command *20
-- yes: thread_wait pid=9 comm=app wait=lock function=futex_do_wait threads=0.6 role=command *20
-- yes: thread_wait pid=7 comm=app wait=run threads=0.4 role=command *20
-- yes: thread_wait pid=8 comm=app wait=run threads=0.4 role=command *20
-- yes: thread_wait pid=9 comm=app wait=run threads=0.4 role=command *20
--
-- yes: sched cpus_online=4 *20
-- yes: process pid=7 comm=app cpu=17 threads=9 *20
-- yes: thread_wait pid=7 comm=app wait=lock function=futex_do_wait threads=6.8 mutex=6.8 *20
-- yes: thread_wait pid=7 comm=app wait=sleep function=hrtimer_nanosleep threads=0.9 *20
-- yes: thread_wait pid=7 comm=app wait=run threads=0.2 *20
-- no: sched cpus_online=4 *20
-- no: process pid=7 comm=server cpu=17 threads=9 *20
-- no: thread_wait pid=7 comm=server wait=lock function=futex_do_wait threads=6.8 mutex=6.8 *20
-- no: thread_wait pid=7 comm=server wait=accept function=inet_csk_accept threads=0.9 *20
-- no: thread_wait pid=7 comm=server wait=run threads=0.2 *20
--
-- no: sched cpus_online=4 *20
-- no: process pid=7 comm=pool cpu=17 threads=9 *20
-- no: thread_wait pid=7 comm=pool wait=lock function=futex_do_wait threads=6.8 mutex=0 *20
-- no: thread_wait pid=7 comm=pool wait=sleep function=hrtimer_nanosleep threads=0.9 *20
--
-- yes: sched cpus_online=4 *20
-- yes: process pid=7 comm=java cpu=114 threads=25 *20
-- yes: thread_wait pid=7 comm=java wait=lock function=futex_do_wait threads=5 mutex=0 *20
-- yes: thread_wait pid=7 comm=java wait=run threads=1.4 *20
-- yes: stack pid=7 comm=java stack="thread_entry;work" samples=50
-- yes: stack pid=7 comm=java stack="thread_entry;ObjectMonitor::enter;ObjectMonitor::EnterI;os::PlatformEvent::park" samples=5
-- no: sched cpus_online=4 *20
-- no: process pid=7 comm=java cpu=114 threads=25 *20
-- no: thread_wait pid=7 comm=java wait=lock function=futex_do_wait threads=5 mutex=0 *20
-- no: thread_wait pid=7 comm=java wait=run threads=1.4 *20
-- no: stack pid=7 comm=java stack="thread_entry;work" samples=55
-- Where hardly anything runs although threads surely wait for a mutex, who holds it waits for something else: what it is, is the other wait of these
-- threads, unless that is one for work, as of the one of a pool that accepts while the others wait for their turn.
-- At least one more waits than runs, the program keeps about a CPU busy and not all that there are: the lock is what is full. Threads of a pool
-- that wait for work wait on a condition, which looks as a lock does. It is a lock where half of the waits are surely for a mutex; or where one at a time
-- works all the time, and none of them waits for what would give the others work (a clock, a peer, a pipe).
-- A runtime that waits on a condition for its own locks has functions that run only where two threads want one lock: where
-- these are among what its threads run, it is a lock too, at about one CPU.
-- What is known of addresses is known within a process.
-- Processes of the recorded command that are one program count together where they wake up for the lock,
-- as they may share it; a parent that waits for them is none of them. How long a process of one thread that is seen to wait for nothing
-- but locks did wait is what the scheduler did not count as run or queued: exact, where a few looks at its thread are not.
WITH machines AS (
    SELECT run, host, max(cpus_online) AS cpus FROM sched GROUP BY run, host
), switches AS (
    SELECT run, host, pid, sum(voluntary_switches_per_s * dt) AS woke, sum((cpu + run_queue_wait) * dt) / 100 AS wanted_s
    FROM process GROUP BY run, host, pid
), stacks AS (
    SELECT run, host, pid, samples, regexp_extract(stack, '(ObjectMonitor::EnterI|ObjectMonitor::ExitEpilog|sync\.\(\*Mutex\)\.lockSlow|Mutex::lock_contended|RawMutex::lock_slow)') AS function
    FROM stack WHERE coalesce(event, 'on-cpu') NOT IN ('off-cpu', 'wakeup')
), contended AS (
    SELECT run, host, pid, arg_max(function, samples) FILTER (function <> '') AS function
    FROM stacks GROUP BY run, host, pid
    HAVING sum(samples) FILTER (function <> '') >= greatest(3, 0.03 * sum(samples))
), processes AS (
    SELECT w.run, w.host, w.comm, w.pid, max(w.role) AS role, sum(w.threads) FILTER (w.wait = 'lock') AS waiting, sum(w.threads) FILTER (w.wait <> 'child') AS working,
        max(w.cpu) AS cpu, bool_and(w.wait IN ('lock', 'run')) AS only_locks, max(s.wanted_s) AS wanted_s, max(w.mutex) AS mutex,
        coalesce(sum(w.there) FILTER (w.wait IN ('sleep', 'receive', 'accept', 'poll', 'pipe')), 0) AS feeding,
        coalesce(sum(w.there) FILTER (w.wait IN ('receive', 'accept', 'poll', 'pipe')), 0) AS outside,
        arg_max(w.wait, w.there) FILTER (w.may_hold) AS held, max(w.there) FILTER (w.may_hold) AS holders,
        max(w.there) FILTER (w.wait = 'flush') AS flushing, max(w.looks) FILTER (w.wait = 'lock') AS looks, max(w.of_threads) AS of_threads, any_value(w.seen_s) AS seen_s, max(s.woke) AS woke
    FROM (SELECT *, wait NOT IN ('lock', 'run', 'receive', 'accept', 'poll', 'pipe', 'other', 'stopped') AS may_hold FROM thread_wait_mean WHERE is_subject) w
    LEFT JOIN switches s ON s.run = w.run AND s.host = w.host AND s.pid = w.pid
    GROUP BY w.run, w.host, w.comm, w.pid
), alone AS (
    SELECT run, host, comm, pid, 'process ' || pid AS place, waiting, working, cpu, mutex, feeding, outside, held, holders, flushing, looks, seen_s FROM processes WHERE looks >= 5
), together AS (
    SELECT run, host, comm, NULL AS pid, count(*) || ' processes' AS place,
        sum(CASE WHEN only_locks AND of_threads <= 1 THEN greatest(waiting, working - wanted_s / seen_s) ELSE waiting END) FILTER (woke >= 20 * waiting * seen_s) AS waiting, sum(working) AS working, sum(cpu) AS cpu,
        NULL AS mutex, sum(feeding) AS feeding, NULL AS outside, NULL AS held, NULL AS holders, NULL AS flushing, max(looks) AS looks, any_value(seen_s) AS seen_s
    FROM processes
    WHERE role = 'command' AND of_threads <= 2 AND working > 0
    GROUP BY run, host, comm
    HAVING count(*) >= 2 AND sum(looks) >= 5
), all_of AS (
    SELECT * FROM alone UNION ALL SELECT * FROM together
), seconds AS (
    SELECT a.run, a.host, a.comm, a.place, p.t, any_value(p.dt) AS dt, sum(p.cpu) AS cpu
    FROM all_of a JOIN process p ON p.run = a.run AND p.host = a.host AND p.comm = a.comm AND (a.pid IS NULL OR p.pid = a.pid)
    GROUP BY a.run, a.host, a.comm, a.place, p.t
), serial AS (
    SELECT run, host, comm, place, sum(dt) FILTER (cpu BETWEEN 95 AND 110) / sum(dt) AS share, sum(dt) FILTER (cpu BETWEEN 90 AND 125) / sum(dt) AS nearly FROM seconds GROUP BY run, host, comm, place
), judged AS (
    SELECT a.*, s.share AS serial, s.nearly, c.function, a.mutex >= 0.5 AND a.cpu < 50 AND a.outside < 0.2 AND a.holders >= 0.5 AS is_held
    FROM all_of a LEFT JOIN serial s ON s.run = a.run AND s.host = a.host AND s.comm = a.comm AND s.place = a.place
    LEFT JOIN contended c ON c.run = a.run AND c.host = a.host AND c.pid = a.pid
)
SELECT a.run, a.host, a.comm, a.place, steady(a.working) AS working, steady(a.waiting) AS waiting, a.cpu, 100 * a.waiting / a.working AS share, CASE WHEN a.is_held THEN a.held END AS held,
    CASE WHEN a.mutex >= 0.5 AND NOT a.is_held AND a.flushing >= 0.1 THEN 100 * a.flushing END AS flushed, a.function
FROM judged a JOIN machines m ON m.run = a.run AND m.host = a.host
WHERE a.waiting >= 1 AND a.waiting >= 0.5 * a.working AND a.seen_s >= 3
    AND (a.is_held OR a.cpu BETWEEN 50 AND 60 * least(m.cpus, a.working) AND (a.mutex >= 0.5 OR a.feeding < 0.5 AND (a.serial >= 0.7 OR a.function IS NOT NULL AND a.nearly >= 0.7)))
ORDER BY waiting DESC, a.run, a.host, a.place
