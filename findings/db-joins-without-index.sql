-- title: Joins have no index
-- severity: info
-- section: database
-- message: {server} did {rate:/s} joins without an index.
-- advice: Find the statements (fenxi ask db-statements-by -p by=rows, or EXPLAIN with `Using join buffer`) and add an index on the joined column. Harmless between tables of a few rows.
-- ask: db-per-statement-cost
-- explains: one-cpu-saturated, one-thread-saturated, cpu-pressure, cpu-queue, db-cpu-bound, db-run-queue, db-one-statement
-- world: database
-- yes: db server=localhost full_joins_per_s=4 *40
-- no: db server=localhost full_joins_per_s=0.01 *40
--
-- no: db server=localhost full_scans_per_s=4 full_joins_per_s=0 *40
-- MySQLTuner warns from 250 a day; a tenth a second is far more, and no accident.
SELECT run, host, server, wmean(full_joins_per_s, dt) AS rate
FROM db
GROUP BY run, host, server
HAVING wmean(full_joins_per_s, dt) >= 0.1 AND sum(dt) >= 5
ORDER BY rate DESC, run, host, server
