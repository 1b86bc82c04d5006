-- title: Lock contention in the kernel
-- severity: warning
-- section: cpu
-- message: {what} took {cost} while the kernel used {in_sys:%} of the CPUs.
-- advice: Kernel time without many system calls usually means lock contention: find the lock and its callers, use fewer threads, or partition what they share.
-- ask: lock-contention
-- impact: in_sys of the CPUs' time
-- names: function
-- yes: cpu cpu=0 usr=10 sys=60 idle=30 mutex_spins_per_s=4000 *30
-- yes: cpu cpu=1 usr=10 sys=60 idle=30 mutex_spins_per_s=4000 *30
--
-- yes: cpu usr=10 sys=50 idle=40 *30
-- yes: lock comm=mysqld event="mutex spin" lock=m caller=f total_s=0.5 events=9 *30
--
-- yes: cpu usr=10 sys=50 idle=40 *30
-- yes: sched syscalls_per_s=2000 context_switches_per_s=3000 cpus_online=4 *30
-- no: cpu usr=10 sys=50 idle=40 *30
--
-- no: cpu usr=10 sys=50 idle=40 *30
-- no: sched syscalls_per_s=900000 context_switches_per_s=3000 cpus_online=4 *30
--
-- no: cpu cpu=0 usr=80 sys=5 idle=15 mutex_spins_per_s=4000 *30
-- Three signs beside sys of 30 % or more: above 500 failed first attempts per CPU and second (the old rule for smtx);
-- traced spinning of a tenth of a CPU; or so few system calls and switches (below 5000 a CPU and second) that these
-- cannot explain it. Without any of those figures nothing is reported.
WITH machines AS (
    SELECT run, host, wmean(sys, dt) AS in_sys
    FROM cpu c
    WHERE cpu IS NULL OR NOT EXISTS (SELECT 1 FROM cpu a WHERE a.run = c.run AND a.host = c.host AND a.cpu IS NULL)
    GROUP BY run, host
), spins AS (
    SELECT run, host, wmean(mutex_spins_per_s, dt) AS per_cpu FROM cpu WHERE cpu IS NOT NULL GROUP BY run, host
), locks AS (
    SELECT run, host, sum(coalesce(total_s, events * mean_us / 1e6)) AS spun_s, (max(epoch_us(t)) - min(epoch_us(t))) / 1e6 + max(dt) AS seen_s
    FROM lock
    WHERE event LIKE '%spin%'
    GROUP BY run, host
), calls AS (
    SELECT run, host, wmean(syscalls_per_s, dt) / nullif(max(cpus_online), 0) AS calls,
        wmean(context_switches_per_s, dt) / nullif(max(cpus_online), 0) AS switches
    FROM sched
    GROUP BY run, host
), signs AS (
    SELECT run, host, 1 AS place, 'Failed first attempts at kernel mutexes' AS what, CAST(round(per_cpu) AS BIGINT) || ' a CPU and second' AS cost
    FROM spins WHERE per_cpu >= 500
    UNION ALL
    SELECT run, host, 2, 'Spinning on traced locks', CAST(round(100 * spun_s / seen_s) AS BIGINT) || ' % of a CPU' FROM locks WHERE spun_s >= 0.1 * seen_s
    UNION ALL
    SELECT run, host, 3, 'Something other than system calls', 'the time (only ' || CAST(round(calls) AS BIGINT) || ' calls a CPU and second)'
    FROM calls WHERE calls < 5000 AND switches < 5000
)
SELECT run, host, what, cost, in_sys
FROM machines JOIN signs USING (run, host)
WHERE in_sys >= 30
ORDER BY in_sys DESC, run, host, place
