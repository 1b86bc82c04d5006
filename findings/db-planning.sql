-- title: A statement is planned longer than it runs
-- severity: warning
-- section: database
-- message: On {server} {planning:s} per second go into planning and {running:s} into running of {statement}.
-- advice: Prepare it once for each connection, and let poolers keep prepared statements; fewer partitions and joins plan faster.
-- ask: db-statements-by
-- part: on CPU; run queue
-- impact: share of the time in statements and their plans
-- explains: db-unexplained-cpu, db-one-statement, db-run-queue, db-cpu-bound
-- world: database
-- yes: db_statement server=localhost digest=a statement="SELECT a" calls_per_s=900 time=0.2 plan_time=0.5 dt=10 *6
-- no: db_statement server=localhost digest=a statement="SELECT a" calls_per_s=900 time=0.5 plan_time=0.2 dt=10 *6
--
-- no: db_statement server=localhost digest=a statement="SELECT a" calls_per_s=9 time=0.01 plan_time=0.02 dt=10 *6
--
-- no: db_statement server=localhost digest=a statement="SELECT a" calls_per_s=900 time=0.2 plan_time=0.5 dt=10 *6
-- no: db_statement server=localhost digest=b statement="SELECT b" calls_per_s=900 time=4 plan_time=0.1 dt=10 *6
-- As much as execution, a tenth of a session, and a fifth of the time in all statements.
WITH statements AS (
    SELECT *, sum(running + coalesce(planning, 0)) OVER (PARTITION BY run, host, server, in_total) AS total FROM db_statement_mean
)
SELECT run, host, server, left(statement, 100) AS statement, planning, running, 100 * planning / total AS share, digest
FROM statements
WHERE planning >= 0.2 * total AND planning >= running AND planning >= 0.1 AND digest IS NOT NULL AND seen_s >= 5
ORDER BY planning DESC, run, host, server
