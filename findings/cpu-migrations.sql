-- title: Threads migrate between CPUs all the time
-- severity: warning
-- section: cpu
-- message: Threads came to CPU {cpu} from other CPUs {migrations:/s} on average, at most {most:/s}; on {storming} of {cpus} CPUs it was over 4000/s.
-- advice: Each migration leaves warm caches behind. Look for many more runnable threads than CPUs, for threads that wake each other across CPUs, and for CPU affinities that leave too few CPUs; then try to bind the work to CPUs or NUMA nodes, and compare. Harmless where it makes a queue shorter and throughput is what counts.
-- ask: cpu-migrations-heatmap
-- kind: symptom
-- names: switching, process
-- causes: cpu-queue (more tasks than CPUs), bound-to-cpus (CPUs that a program may not use)
-- yes: cpu cpu=0 migrations_per_s=6400 *30
-- yes: cpu cpu=1 migrations_per_s=4500 *30
-- no: cpu cpu=0 migrations_per_s=300 *30
-- no: cpu cpu=1 migrations_per_s=280 *30
--
-- no: cpu cpu=0 migrations_per_s=9000 *2
-- no: cpu cpu=1 migrations_per_s=10 *30
--
-- no: cpu cpu=0 *30
--
-- no: cpu cpu=0 migrations_per_s=2600 *30
-- no: cpu cpu=1 migrations_per_s=1900 *30
-- A thread that moves refills its caches: from some ten microseconds, by how much it uses. At four thousand a second on a CPU
-- that is at least 4 % of it. The scheduler moves threads to idle CPUs at lower rates all the time: healthy loads of a database
-- were seen at a thousand to 2700.
WITH per_cpu AS (
    SELECT run, host, cpu, wmean(migrations_per_s, dt) AS migrations, max(migrations_per_s) AS most, sum(dt) AS seen_s
    FROM cpu
    WHERE cpu IS NOT NULL AND migrations_per_s IS NOT NULL
    GROUP BY run, host, cpu
), ranked AS (
    SELECT *, count(*) OVER machine AS cpus, sum(CASE WHEN migrations >= 4000 THEN 1 ELSE 0 END) OVER machine AS storming,
        row_number() OVER (PARTITION BY run, host ORDER BY migrations DESC, cpu) AS place
    FROM per_cpu
    WINDOW machine AS (PARTITION BY run, host)
)
SELECT run, host, cpu, migrations, most, CAST(storming AS BIGINT) AS storming, cpus
FROM ranked
WHERE place = 1 AND migrations >= 4000 AND seen_s >= 3
ORDER BY migrations DESC, run, host
