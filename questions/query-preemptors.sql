-- title: Which programs preempted queries?
-- about: Programs that preempted a server's threads while they executed queries: how often, and how long until the thread was back on a CPU.
-- section: database
-- chart: table
-- order: 33
-- param: n = 30, how many programs to show
SELECT run, host, server, by_comm, sum(preemptions) AS preemptions, sum(waited_s) AS waited_s,
    1e6 * sum(waited_s) / nullif(sum(preemptions), 0) AS mean_us, count(DISTINCT by_pid) AS processes
FROM preemption
GROUP BY run, host, server, by_comm
ORDER BY run, preemptions DESC NULLS LAST, waited_s DESC
LIMIT $n
