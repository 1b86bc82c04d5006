-- title: A program waits for its peer to read
-- severity: warning
-- section: network
-- message: {waiting} threads of {comm} waited on average for room in a socket's send buffer, {share:%} of their time.
-- advice: The receiver, or the network between, is slower than the sender. Look at the receiver's CPU and locks, at retransmits, and whether the bandwidth-delay product exceeds the buffers.
-- ask: net-throughput
-- explains: window-limited
-- impact: share of its threads' time
-- yes: sched cpus_online=4 *20
-- yes: thread_wait pid=7 comm=app wait=send function=sk_stream_wait_memory threads=0.8 *20
-- no: sched cpus_online=4 *20
-- no: thread_wait pid=7 comm=app wait=send function=sk_stream_wait_memory threads=1 *2
-- no: thread_wait pid=7 comm=app wait=run threads=1 *18 @2
-- A third of the program's time.
SELECT run, host, comm, steady(sum(threads)) AS waiting, 100 * sum(threads) / sum(at_work) AS share
FROM thread_wait_mean
WHERE wait = 'send' AND looks >= 3 AND seen_s >= 3 AND is_subject
GROUP BY run, host, comm
HAVING sum(threads) >= 0.3 AND sum(threads) >= 0.33 * sum(at_work)
ORDER BY waiting DESC, run, host, comm
