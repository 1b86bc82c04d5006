-- title: A statement spends its time in just-in-time compilation
-- severity: warning
-- section: database
-- message: On {server} {share:%} of the time of this statement is compilation: {statement}.
-- advice: Raise jit_above_cost, or switch jit off for it: compilation pays only for statements that run for long.
-- ask: db-statements-by
-- impact: share of the statement's time
-- explains: db-one-statement, one-thread-saturated, one-cpu-saturated, db-cpu-bound
-- world: database
-- yes: db_statement server=localhost digest=a statement="SELECT a" calls_per_s=9 time=0.5 jit_time=0.2 dt=10 *6
-- no: db_statement server=localhost digest=a statement="SELECT a" calls_per_s=9 time=0.5 jit_time=0.01 dt=10 *6
--
-- no: db_statement server=localhost digest=a statement="SELECT a" calls_per_s=0.1 time=0.02 jit_time=0.01 dt=10 *6
-- A fifth of its time, and a twentieth of a session.
SELECT run, host, server, left(statement, 100) AS statement, 100 * compiling / running AS share, digest
FROM db_statement_mean
WHERE compiling >= 0.2 * running AND compiling >= 0.05 AND digest IS NOT NULL AND seen_s >= 5
ORDER BY compiling DESC, run, host, server
