-- title: The load generator is saturated
-- severity: warning
-- section: result
-- message: {comm} (process {pid}) used {used:%} of the one CPU that it can use, and was saturated for {full_s:s}.
-- advice: The figures show the limit of the generator, not of the system under test: give it more threads or processes, or another machine.
-- ask: top-processes
-- comparison: warn
-- explains: offered-rate-missed, load-late
-- impact: used of one CPU
-- world: load
-- yes: process pid=5 comm=pgbench cpu=99 threads=1 *30
-- yes: cpu idle=60 *30
--
-- yes: thread pid=5 tid=6 comm=sysbench cpu=98 *30
-- yes: cpu idle=60 *30
-- no: process pid=5 comm=pgbench cpu=40 threads=1 *30
--
-- no: process pid=5 comm=postgres cpu=99 threads=1 *30
--
-- no: process pid=5 comm=wrk cpu=300 threads=8 *30
-- Known generators, by name, that have one thread or one thread that is full for half of the time it was seen.
WITH one AS (
    SELECT run, host, pid, comm, dt, cpu AS busy FROM process WHERE threads = 1
    UNION ALL
    SELECT run, host, pid, comm, dt, max(cpu) FROM thread GROUP BY run, host, t, pid, comm, dt
), drivers AS (
    SELECT run, host, comm, pid, wmean(busy, dt) AS used, sum(CASE WHEN busy >= 90 THEN dt ELSE 0 END) AS full_s, sum(dt) AS seen_s
    FROM one
    WHERE comm IN ('sysbench', 'pgbench', 'mysqlslap', 'wrk', 'wrk2', 'ab', 'siege', 'hey', 'oha', 'h2load', 'k6', 'vegeta', 'locust',
        'iperf', 'iperf3', 'netperf', 'memtier_benchma', 'redis-benchmark', 'tpcc_start', 'go-tpc', 'fio')
    GROUP BY run, host, comm, pid
)
SELECT run, host, comm, pid, used, full_s
FROM drivers
WHERE full_s >= 0.5 * seen_s AND full_s >= 3
ORDER BY used DESC, run, host, pid
