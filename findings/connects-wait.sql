-- title: Connections are slow to open
-- severity: warning
-- section: network
-- message: {waiting} threads of {comm} waited for a connection to open on average, {share:%} of their time.
-- advice: The other side is far, does not accept (a full accept queue, fenxi findings there), or packets are lost: a lost SYN is sent again after a second. Keep connections open, or use a pool.
-- ask: tcp-health
-- impact: share of its threads' time
-- yes: sched cpus_online=4 *20
-- yes: thread_wait pid=7 comm=app wait=connect function=inet_wait_for_connect threads=0.8 *20
-- no: sched cpus_online=4 *20
-- no: thread_wait pid=7 comm=app wait=connect function=inet_wait_for_connect threads=1 *2
-- no: thread_wait pid=7 comm=app wait=run threads=1 *18 @2
-- Three tenths of a thread: opening a connection on a healthy network takes a round trip.
SELECT run, host, comm, steady(sum(threads)) AS waiting, 100 * sum(threads) / sum(at_work) AS share
FROM thread_wait_mean
WHERE wait = 'connect' AND looks >= 3 AND seen_s >= 3 AND is_subject
GROUP BY run, host, comm
HAVING sum(threads) >= 0.3
ORDER BY waiting DESC, run, host, comm
