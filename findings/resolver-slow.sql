-- title: A program waits for a name server
-- severity: warning
-- section: network
-- message: {waiting} threads of {comm} waited for a name server on average, {share:%} of their time.
-- advice: Measure it (`dig`, `resolvectl query`), and see /etc/resolv.conf: a first server that is slow or dead, search domains that are tried before the name itself, an IPv6 query without an answer (options single-request). A cache on the host (nscd, systemd-resolved, dnsmasq), connections that stay open, or an address in place of the name spare it.
-- ask: thread-waits
-- explains: waits-for-peer
-- impact: share of its threads' time
-- yes: sched cpus_online=4 *20
-- yes: thread_wait pid=7 comm=app wait="name server" function=poll_schedule_timeout threads=0.6 role=command *20
-- yes: thread_wait pid=7 comm=app wait=run threads=0.4 role=command *20
-- no: sched cpus_online=4 *20
-- no: thread_wait pid=7 comm=app wait="name server" function=poll_schedule_timeout threads=1 role=command *2
-- no: thread_wait pid=7 comm=app wait=run threads=1 role=command *18 @2
--
-- no: sched cpus_online=4 *20
-- no: thread_wait pid=7 comm=app wait=poll function=poll_schedule_timeout threads=1 role=command *20
-- Two tenths of a thread, and of the program's time: a name is asked for once, and then remembered or connected.
SELECT run, host, comm, steady(sum(threads)) AS waiting, 100 * sum(threads) / sum(at_work) AS share
FROM thread_wait_mean
WHERE wait = 'name server' AND looks >= 3 AND seen_s >= 3 AND is_subject
GROUP BY run, host, comm
HAVING sum(threads) >= 0.2 AND sum(threads) >= 0.2 * sum(at_work)
ORDER BY waiting DESC, run, host, comm
