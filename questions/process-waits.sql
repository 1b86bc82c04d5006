-- title: Who waited, and for what?
-- about: Run-queue latency and block I/O wait of processes in seconds, with context switches; involuntary switches mean contention for CPUs.
-- section: process
-- chart: table
-- order: 50
-- param: n = 20, how many processes to show
WITH waited AS (
    SELECT run, host, pid, comm, sum(run_queue_wait / 100 * dt) AS run_queue_wait_s, sum(io_wait / 100 * dt) AS io_wait_s,
        sum(cpu / 100 * dt) AS cpu_s, round(sum(voluntary_switches_per_s * dt)) AS voluntary_switches,
        round(sum(involuntary_switches_per_s * dt)) AS involuntary_switches
    FROM process
    GROUP BY run, host, pid, comm
), placed AS (
    SELECT *, row_number() OVER (PARTITION BY run, host
        ORDER BY coalesce(run_queue_wait_s, 0) + coalesce(io_wait_s, 0) DESC, pid) AS place
    FROM waited
    WHERE coalesce(run_queue_wait_s, 0) + coalesce(io_wait_s, 0) > 0
)
SELECT run, host, pid, comm, run_queue_wait_s, io_wait_s, cpu_s, voluntary_switches, involuntary_switches
FROM placed
WHERE place <= $n
ORDER BY run, host, place
