-- title: Who used the CPU?
-- about: Processes by CPU time over the whole run; cpu_pct is in percent of one CPU over the run's length, share_pct of all CPU time seen here.
-- section: process
-- chart: table
-- order: 10
-- param: n = 20, how many processes to show
WITH used AS (
    SELECT run, host, pid, comm, max(p.user) AS user_name, sum(cpu / 100 * dt) AS cpu_s, sum(usr / 100 * dt) AS usr_s,
        sum(sys / 100 * dt) AS sys_s, sum(run_queue_wait / 100 * dt) AS run_queue_wait_s, max(rss_bytes) AS max_rss_bytes,
        max(threads) AS threads
    FROM process p
    GROUP BY run, host, pid, comm
), placed AS (
    SELECT *, sum(cpu_s) OVER (PARTITION BY run, host) AS all_cpu_s,
        row_number() OVER (PARTITION BY run, host ORDER BY cpu_s DESC NULLS LAST, pid) AS place
    FROM used
)
SELECT run, placed.host, pid, comm, user_name, cpu_s, usr_s, sys_s, 100 * cpu_s / nullif(duration_s, 0) AS cpu_pct,
    100 * cpu_s / nullif(all_cpu_s, 0) AS share_pct, run_queue_wait_s, max_rss_bytes, threads
FROM placed JOIN runs USING (run)
WHERE place <= $n AND cpu_s > 0
ORDER BY run, placed.host, place
