-- title: Statements with most time
-- severity: info
-- section: database
-- message: `{statement}` {running:s/s}
-- yes: db_statement server=here digest=a statement="SELECT a FROM b" calls_per_s=20 time=0.8 dt=10 *6
-- no: db_statement server=here digest=a statement="SELECT a FROM b" calls_per_s=20 time=0.01 dt=10 *6
SELECT run, host, left(regexp_replace(statement, '\s+', ' ', 'g'), 80) AS statement, running
FROM db_statement_mean
WHERE in_total AND running >= 0.05 AND statement IS NOT NULL
ORDER BY running DESC, run, host, statement
