-- title: A program is blocked on a remote peer
-- severity: warning
-- section: network
-- message: {waiting} threads of {comm} waited on average for data from a socket, {share:%} of their time, while nothing on this machine worked on it.
-- advice: The network to the peer has a high latency, or the peer is slow or waits itself. Count the round trips (batches, pipelining, several requests at once) and measure one (ping, `ss -ti`); record the other end as well.
-- ask: thread-waits
-- impact: share of its threads' time
-- yes: sched cpus_online=4 *20
-- yes: thread_wait pid=7 comm=app wait=receive function=sk_wait_data threads=0.9 role=command *20
-- yes: thread_wait pid=7 comm=app wait=run threads=0.1 role=command *20
-- no: sched cpus_online=4 *20
-- no: thread_wait pid=7 comm=app wait=receive function=sk_wait_data threads=0.9 role=command *20
-- no: thread_wait pid=9 comm=server wait=run threads=0.6 *20
--
-- no: sched cpus_online=4 *20
-- no: thread_wait pid=7 comm=app wait=receive function=sk_wait_data threads=0.9 role=command *20
-- no: thread_wait pid=9 comm=server wait=lock threads=0.8 role=command *20
--
-- no: sched cpus_online=4 *20
-- no: thread_wait pid=7 comm=app wait=receive function=sk_wait_data threads=0.9 *20
--
-- yes: sched cpus_online=4 *20
-- yes: thread_wait pid=7 comm=app wait=receive function=sk_wait_data threads=0.9 role=command *20
-- yes: thread_wait pid=7 comm=app wait=run threads=0.1 role=command *20
-- yes: thread_wait pid=9 comm=daemon wait=lock function=futex_do_wait threads=0.9 *20
--
-- no: sched cpus_online=4 *20
-- no: thread_wait pid=7 comm=app wait=receive function=sk_wait_data threads=0.9 role=command *20
-- no: thread_wait pid=9 comm=server wait=lock function=futex_do_wait threads=2 *20
-- no: thread_wait pid=9 comm=server wait=run threads=0.3 *20
--
-- no: sched cpus_online=4 *20
-- no: thread_wait pid=7 comm=app wait=run threads=0.9 role=command *20
-- no: thread_wait pid=8 comm=app wait=receive function=sk_wait_data threads=4 role=command *20
-- no: thread_wait pid=8 comm=app wait=run threads=0.2 role=command *20
-- Half of the command's time and half a thread, while all threads of this machine that run, or wait for anything but others, are less
-- than a third of those. A server on this machine that is slow is thus named by what it does. Threads of a runtime park on a futex, as
-- one that waits for a lock does: of a bystander that is never seen at work such waits do not count. Where a process works more than it
-- waits, the others wait for it.
WITH seen AS (
    SELECT run, host, comm, sum(threads) FILTER (role = 'command' AND wait = 'receive') AS waiting, max(looks) FILTER (role = 'command' AND wait = 'receive') AS looks,
        sum(threads) FILTER (role = 'command' AND wait NOT IN ('poll', 'accept', 'child')) AS at_work, any_value(seen_s) AS seen_s,
        sum(threads) FILTER (wait NOT IN ('receive', 'poll', 'accept', 'child', 'sleep', 'lock')) AS busy, sum(threads) FILTER (wait = 'lock') AS locked,
        count(*) FILTER (role = 'command') AS is_command, sum(threads) FILTER (wait = 'sleep' AND role = 'command') AS sleeping
    FROM thread_wait_mean GROUP BY run, host, comm
), working AS (
    SELECT *, coalesce(busy, 0) + CASE WHEN is_command > 0 OR busy >= 0.1 * locked THEN coalesce(locked, 0) ELSE 0 END AS doing FROM seen
), hosts AS (
    SELECT run, host, sum(waiting) AS all_waiting, coalesce(sum(doing), 0) + coalesce(sum(sleeping), 0) AS all_doing FROM working GROUP BY run, host
), at_work AS (
    SELECT run, host, pid, sum(threads) FILTER (wait NOT IN ('receive', 'poll', 'accept', 'child', 'sleep', 'lock')) AS doing, coalesce(sum(threads) FILTER (wait = 'receive'), 0) AS waiting
    FROM thread_wait_mean GROUP BY run, host, pid
)
SELECT s.run, s.host, s.comm, steady(s.waiting) AS waiting, 100 * s.waiting / s.at_work AS share
FROM seen s JOIN hosts h ON h.run = s.run AND h.host = s.host
WHERE s.waiting >= 0.5 AND s.waiting >= 0.5 * s.at_work AND h.all_doing <= 0.33 * h.all_waiting AND s.looks >= 3 AND s.seen_s >= 3
    AND NOT EXISTS (SELECT 1 FROM at_work w WHERE w.run = s.run AND w.host = s.host AND w.doing >= 0.5 AND w.doing > w.waiting)
ORDER BY s.waiting DESC, s.run, s.host, s.comm
