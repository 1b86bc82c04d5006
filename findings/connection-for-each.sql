-- title: Clients connect for each request
-- severity: warning
-- section: network
-- message: {opens:/s} connections were accepted{place}, for {established} that were open at once: each lived {life:ms} on average.
-- advice: Keep connections open and reuse them (keep-alive, a pool): opening one costs round trips, and on a database server a process or thread with a log-in. Ports in TIME-WAIT may run out.
-- ask: tcp-connections
-- explains: short-processes, many-forks, sys-time-high, page-faults, network-latency
-- yes: sched cpus_online=4 *20
-- yes: tcp passive_opens_per_s=300 established=12 *20
--
-- yes: sched cpus_online=4 *20
-- yes: netns namespace=4026532300 comm=nginx passive_opens_per_s=300 established=12 *20
-- no: tcp passive_opens_per_s=2 established=12 *20
--
-- no: tcp passive_opens_per_s=100 established=2000 *20
--
-- no: tcp passive_opens_per_s=300 established=12 *2
-- no: tcp passive_opens_per_s=0 established=12 *18 @2
-- Little's law: open connections over those accepted in a second are the mean life. Below a second, at fifty a second and more, a
-- connection serves little more than a request; both ends on one host count twice as open.
WITH hosts AS (
    SELECT run, host, place, wmean(passive_opens_per_s, dt) AS opens, wmean(established, dt) AS established, sum(dt) AS seen_s,
        sum(CASE WHEN passive_opens_per_s >= 25 THEN dt ELSE 0 END) AS busy_s
    FROM tcp_space
    GROUP BY run, host, namespace, place
)
SELECT run, host, opens, CAST(round(established) AS BIGINT) AS established, 1000 * established / opens AS life, place
FROM hosts
WHERE opens >= 50 AND established < opens AND busy_s >= 0.5 * seen_s AND seen_s >= 3
ORDER BY opens DESC, run, host
