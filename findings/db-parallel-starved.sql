-- title: Parallel plans do not get their workers
-- severity: info
-- section: database
-- message: Statements of {server} asked for {planned:/s} parallel workers and got {launched:/s}: {missing:%} are missing.
-- advice: The leader does the work of those that are missing, so that such statements take longer than planned, and longer with more sessions. Raise max_parallel_workers (and max_worker_processes, which needs a restart) if CPUs are idle; else lower max_parallel_workers_per_gather. Mistaken for a bad plan or for a slow disk.
-- ask: db-statements
-- impact: missing of the parallel workers
-- world: database
-- yes: db server=localhost parallel_workers_planned_per_s=8 parallel_workers_launched_per_s=1 samples=10 *40
-- no: db server=localhost parallel_workers_planned_per_s=8 parallel_workers_launched_per_s=7.5 samples=10 *40
--
-- no: db server=localhost parallel_workers_planned_per_s=0.01 parallel_workers_launched_per_s=0 samples=10 *40
--
-- no: db server=localhost parallel_workers_planned_per_s=8 parallel_workers_launched_per_s=1 samples=10 *4
--
-- no: db server=localhost samples=10 *40
-- Less than four fifths, of at least one in ten seconds. PostgreSQL counts them from version 18 on.
WITH asked AS (
    SELECT run, host, server, wmean(parallel_workers_planned_per_s, dt) AS planned, wmean(parallel_workers_launched_per_s, dt) AS launched, sum(dt) AS seen_s
    FROM db d WHERE d.database IS NULL GROUP BY run, host, server
)
SELECT run, host, server, planned, launched, 100 * (planned - launched) / planned AS missing
FROM asked
WHERE planned >= 0.1 AND launched < 0.8 * planned AND seen_s >= 5
ORDER BY planned - launched DESC, run, host, server
