-- title: What did threads wait for when?
-- about: Threads of all programs by what they did, as each look saw them: running or runnable, and waiting for locks, disks, sockets. Threads that were idle throughout are not counted.
-- section: process
-- chart: stacked
-- x: t
-- y: threads
-- series: wait
-- order: 37
SELECT run, host, t, max(dt) AS dt, wait, sum(threads) AS threads
FROM thread_wait
WHERE wait NOT IN ('poll', 'sleep', 'child', 'accept')
GROUP BY run, host, t, wait
ORDER BY run, host, t, wait
