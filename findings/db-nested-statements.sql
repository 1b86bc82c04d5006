-- title: Triggers do most of the work of changes
-- severity: warning
-- section: database
-- message: {share:%} of the time in statements that change rows on {server} is in what their triggers execute: {statement}, {each:ms} for each of {calls:/s}.
-- advice: What a trigger does is in none of the application's statements: see its statements (`nested` is `yes` in db_statement), give them the indexes that they need, or do the work once for many rows (a trigger FOR EACH STATEMENT, a job).
-- ask: db-statements
-- part: on CPU; run queue; user I/O
-- impact: share of the statements' time
-- explains: db-one-statement, db-run-queue, db-cpu-bound, one-cpu-saturated, one-thread-saturated, cpu-pressure, cpu-queue
-- world: database
-- yes: db_statement server=localhost digest=a statement="INSERT INTO sale VALUES (?, ?)" calls_per_s=200 time=1.2 dt=10 *6
-- yes: db_statement server=localhost digest=b nested=yes statement="INSERT INTO audit SELECT sum(amount) FROM sale WHERE shop = ?" calls_per_s=200 time=1.1 dt=10 *6
-- no: db_statement server=localhost digest=a statement="SELECT pay(?)" calls_per_s=200 time=1.2 dt=10 *6
-- no: db_statement server=localhost digest=b nested=yes statement="UPDATE account SET amount = amount + ?" calls_per_s=200 time=1.1 dt=10 *6
--
-- no: db_statement server=localhost digest=a statement="INSERT INTO sale VALUES (?, ?)" calls_per_s=200 time=1.2 dt=10 *6
-- no: db_statement server=localhost digest=b nested=yes statement="INSERT INTO audit VALUES (?)" calls_per_s=200 time=0.2 dt=10 *6
--
-- no: db_statement server=localhost digest=a statement="DELETE FROM customer WHERE id = ?" calls_per_s=90 time=0.9 dt=10 *6
-- no: db_statement server=localhost digest=b nested=yes statement="SELECT ? FROM ONLY public.purchase x WHERE ? OPERATOR(pg_catalog.=) customer FOR KEY SHARE OF x" calls_per_s=90 time=0.8 dt=10 *6
--
-- no: db_statement server=localhost digest=a statement="CALL pay(?)" calls_per_s=200 time=1.2 dt=10 *6
-- no: db_statement server=localhost digest=c statement="INSERT INTO log VALUES (?)" calls_per_s=2 time=0.01 dt=10 *6
-- no: db_statement server=localhost digest=b nested=yes statement="UPDATE account SET amount = amount + ?" calls_per_s=200 time=1.1 dt=10 *6
-- Half of the time of statements that change rows themselves, where those are half of all: a procedure that is called, or a function in a
-- query, is meant to do work. What the server asks for foreign keys is another finding.
WITH kinds AS (
    SELECT *, in_total AND regexp_matches(upper(trim(statement)), '^(INSERT|UPDATE|DELETE|MERGE|REPLACE|COPY|WITH)') AS changes,
        NOT in_total AND NOT contains(statement, ' OPERATOR(pg_catalog') AS nested
    FROM db_statement_mean WHERE digest IS NOT NULL
), totals AS (
    SELECT run, host, server, sum(running) FILTER (changes) AS changing, sum(running) FILTER (in_total) AS total, sum(running) FILTER (nested) AS inside
    FROM kinds GROUP BY run, host, server
)
SELECT k.run, k.host, k.server, least(100, 100 * t.inside / t.changing) AS share, left(k.statement, 120) AS statement, k.mean_ms AS each, k.calls_per_s AS calls
FROM kinds k JOIN totals t ON t.run = k.run AND t.host = k.host AND t.server IS NOT DISTINCT FROM k.server
WHERE k.nested AND t.changing >= 0.5 * t.total AND t.inside >= 0.5 * t.changing AND t.inside >= 0.05 AND k.seen_s >= 5
QUALIFY row_number() OVER (PARTITION BY k.run, k.host, k.server ORDER BY k.running DESC, k.digest) = 1
ORDER BY share DESC, k.run, k.host, k.server
