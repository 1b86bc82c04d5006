-- title: A statement is planned longer than it runs
-- severity: info
-- section: database
-- says: On {server} {planning:s} per second go into planning and {running:s} into running of {statement}.
-- advice: Prepare it once for each connection, and let poolers keep prepared statements; fewer partitions and joins plan faster.
-- ask: db-statements-by
-- yes: db_statement server=localhost digest=a statement="SELECT a" calls_per_s=900 time=0.2 plan_time=0.5 dt=10 *6
-- no: db_statement server=localhost digest=a statement="SELECT a" calls_per_s=900 time=0.5 plan_time=0.2 dt=10 *6
--
-- no: db_statement server=localhost digest=a statement="SELECT a" calls_per_s=9 time=0.01 plan_time=0.02 dt=10 *6
-- As much as execution, and a tenth of a session.
SELECT run, host, server, left(statement, 100) AS statement, planning, running, digest
FROM db_statement_mean
WHERE planning >= running AND planning >= 0.1 AND digest IS NOT NULL AND seen_s >= 5
ORDER BY planning DESC, run, host, server
