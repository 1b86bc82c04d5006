-- title: Work moves in waves from CPU to CPU
-- severity: info
-- section: cpu
-- message: What came to a CPU came to its neighbour some intervals later, over {cpus} CPUs: the correlation of migrations between neighbours is {later} then, and {together} at the same moment.
-- advice: That is a diagonal in the heat map of migrations: few threads wander over all CPUs, and each finds cold caches. Bind them to CPUs and compare. Ask what makes them wander: a program that changes its affinity, an interrupt that is spread in turn, a balancer that visits one CPU after the other.
-- ask: cpu-migrations-heatmap
-- yes: cpu cpu=0 migrations_per_s=20 *16
-- yes: cpu cpu=0 migrations_per_s=400 @0
-- yes: cpu cpu=0 migrations_per_s=400 @4
-- yes: cpu cpu=0 migrations_per_s=400 @8
-- yes: cpu cpu=0 migrations_per_s=400 @12
-- yes: cpu cpu=1 migrations_per_s=20 *16
-- yes: cpu cpu=1 migrations_per_s=400 @1
-- yes: cpu cpu=1 migrations_per_s=400 @5
-- yes: cpu cpu=1 migrations_per_s=400 @9
-- yes: cpu cpu=1 migrations_per_s=400 @13
-- yes: cpu cpu=2 migrations_per_s=20 *16
-- yes: cpu cpu=2 migrations_per_s=400 @2
-- yes: cpu cpu=2 migrations_per_s=400 @6
-- yes: cpu cpu=2 migrations_per_s=400 @10
-- yes: cpu cpu=2 migrations_per_s=400 @14
-- yes: cpu cpu=3 migrations_per_s=20 *16
-- yes: cpu cpu=3 migrations_per_s=400 @3
-- yes: cpu cpu=3 migrations_per_s=400 @7
-- yes: cpu cpu=3 migrations_per_s=400 @11
-- yes: cpu cpu=3 migrations_per_s=400 @15
-- no: cpu cpu=0 migrations_per_s=20 *16
-- no: cpu cpu=0 migrations_per_s=400 @0
-- no: cpu cpu=0 migrations_per_s=400 @4
-- no: cpu cpu=0 migrations_per_s=400 @8
-- no: cpu cpu=0 migrations_per_s=400 @12
-- no: cpu cpu=1 migrations_per_s=20 *16
-- no: cpu cpu=1 migrations_per_s=400 @0
-- no: cpu cpu=1 migrations_per_s=400 @4
-- no: cpu cpu=1 migrations_per_s=400 @8
-- no: cpu cpu=1 migrations_per_s=400 @12
-- no: cpu cpu=2 migrations_per_s=20 *16
-- no: cpu cpu=2 migrations_per_s=400 @0
-- no: cpu cpu=2 migrations_per_s=400 @4
-- no: cpu cpu=2 migrations_per_s=400 @8
-- no: cpu cpu=2 migrations_per_s=400 @12
-- no: cpu cpu=3 migrations_per_s=20 *16
-- no: cpu cpu=3 migrations_per_s=400 @0
-- no: cpu cpu=3 migrations_per_s=400 @4
-- no: cpu cpu=3 migrations_per_s=400 @8
-- no: cpu cpu=3 migrations_per_s=400 @12
-- Neighbours whose migrations follow each other one or two intervals later, upwards or downwards, much better than at the
-- same moment. Waves that pass a CPU in less than an interval cannot be seen: record at shorter ones.
WITH cells AS (
    SELECT run, host, t, CAST(cpu AS BIGINT) AS cpu, sum(migrations_per_s) AS x
    FROM cpu
    WHERE TRY_CAST(cpu AS BIGINT) IS NOT NULL AND migrations_per_s IS NOT NULL
    GROUP BY run, host, t, cpu
), beside AS (
    SELECT *, lead(x) OVER (PARTITION BY run, host, t ORDER BY cpu) AS other
    FROM cells
), before AS (
    SELECT *, lag(x, 1) OVER one AS x1, lag(x, 2) OVER one AS x2, lag(other, 1) OVER one AS other1, lag(other, 2) OVER one AS other2
    FROM beside
    WINDOW one AS (PARTITION BY run, host, cpu ORDER BY t)
), together AS (
    SELECT run, host, count(DISTINCT cpu) AS cpus, count(DISTINCT t) AS moments, avg(x) AS mean, corr(x, other) AS together,
        greatest(corr(x1, other), corr(x2, other), corr(other1, x), corr(other2, x)) AS later
    FROM before
    GROUP BY run, host
)
SELECT run, host, round(later, 2) AS later, round(together, 2) AS together, cpus
FROM together
WHERE cpus >= 3 AND moments >= 12 AND mean >= 20 AND isfinite(later) AND later >= 0.5 AND later - together >= 0.3
ORDER BY later DESC, run, host
