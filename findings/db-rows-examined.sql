-- title: A statement examines many rows for few
-- severity: info
-- section: database
-- message: {examined:/s} rows were examined for {returned:/s} returned or changed on {server}, by {statement}.
-- advice: An index on what it searches for would find the rows at once; see its plan. Normal for sums and counts over many rows.
-- ask: db-per-statement-cost
-- explains: one-cpu-saturated, one-thread-saturated, cpu-pressure, cpu-queue, db-cpu-bound, db-run-queue, db-one-statement
-- world: database
-- yes: db_statement server=localhost digest=a statement="SELECT a" calls_per_s=20 time=0.8 rows_per_s=20 rows_examined_per_s=400000 dt=10 *6
-- no: db_statement server=localhost digest=a statement="SELECT a" calls_per_s=20 time=0.8 rows_per_s=2000 rows_examined_per_s=400000 dt=10 *6
--
-- no: db_statement server=localhost digest=a statement="SELECT a" calls_per_s=0.02 time=0.001 rows_per_s=0.02 rows_examined_per_s=400 dt=10 *6
-- A thousand to one, in a tenth of a session.
SELECT run, host, server, concat(left(statement, 100), '') AS statement, rows_examined_per_s AS examined, rows_per_s AS returned, digest
FROM db_statement_mean
WHERE rows_examined_per_s >= 1000 * greatest(rows_per_s, calls_per_s) AND running >= 0.1 AND digest IS NOT NULL AND seen_s >= 5
ORDER BY running DESC, run, host, server
