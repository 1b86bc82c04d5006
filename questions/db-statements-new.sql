-- title: Which statements are not in all runs?
-- about: Statements that some of the runs asked about did not execute, by their time: new code, another plan of an application, or a different load. With one run all statements are in all runs.
-- section: database
-- chart: table
-- order: 36
-- param: n = 30, how many statements to show
WITH counted AS (
    SELECT run, host, digest, any_value(statement) AS statement, sum(running) AS running, sum(calls_per_s) AS calls_per_s
    FROM db_statement_mean
    WHERE digest IS NOT NULL
    GROUP BY run, host, digest
), missing AS (
    SELECT *, count(DISTINCT run) OVER (PARTITION BY digest) AS in_runs FROM counted
)
SELECT run, host, statement, in_runs, (SELECT count(DISTINCT run) FROM counted) AS of_runs, running, calls_per_s, digest
FROM missing
WHERE in_runs < (SELECT count(DISTINCT run) FROM counted) OR (SELECT count(DISTINCT run) FROM counted) = 1
ORDER BY run, host, running DESC NULLS LAST, digest
LIMIT $n
