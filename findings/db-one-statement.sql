-- title: One statement takes half of the database's time
-- severity: info
-- section: database
-- message: Of the time in statements of {server}, {share:%} ({running:s} per second, {mean:ms} each) is this one: {statement}.
-- advice: Improve this one first: look at how many rows it reads for what it returns (fenxi ask db-per-statement-cost), at its plan, and at what it waits for (fenxi ask db-statement-waits). Normal for a benchmark of one statement.
-- ask: db-statements
-- impact: share of the statements' time
-- world: database
-- yes: db_statement server=localhost digest=a statement="SELECT a" calls_per_s=90 time=2.5 dt=10 *6
-- yes: db_statement server=localhost digest=b statement="SELECT b" calls_per_s=90 time=0.5 dt=10 *6
-- yes: db_statement server=localhost digest=c statement="SELECT c" calls_per_s=90 time=0.5 dt=10 *6
-- no: db_statement server=localhost digest=a statement="SELECT a" calls_per_s=90 time=0.25 dt=10 *6
-- no: db_statement server=localhost digest=b statement="SELECT b" calls_per_s=90 time=0.05 dt=10 *6
-- no: db_statement server=localhost digest=c statement="SELECT c" calls_per_s=90 time=0.05 dt=10 *6
--
-- no: db_statement server=localhost digest=a statement="SELECT a" calls_per_s=90 time=0.8 dt=10 *6
-- no: db_statement server=localhost digest=b statement="SELECT b" calls_per_s=90 time=0.8 dt=10 *6
-- no: db_statement server=localhost digest=c statement="SELECT c" calls_per_s=90 time=0.8 dt=10 *6
-- Half of the time and half a session, among at least three statements.
WITH shares AS (
    SELECT run, host, server, digest, left(statement, 120) AS statement, running, mean_ms AS mean, seen_s, 100 * running / nullif(sum(running) OVER whole, 0) AS share, count(*) OVER whole AS statements
    FROM db_statement_mean
    WHERE in_total
    WINDOW whole AS (PARTITION BY run, host, server)
)
SELECT run, host, server, statement, running, mean, share, digest
FROM shares
WHERE share >= 50 AND running >= 0.5 AND statements >= 3 AND digest IS NOT NULL AND seen_s >= 5
ORDER BY running DESC, run, host, server
