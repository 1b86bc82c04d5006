-- title: Statements fail
-- severity: warning
-- section: database
-- message: {share:%} of the statements of {server} failed, {rate:/s}.
-- advice: Failed work is work: see which statements (fenxi ask db-statements-by -p by=errors) and the server's log.
-- ask: db-statements-by
-- world: database
-- yes: db_statement server=localhost digest=a calls_per_s=100 time=0.1 errors=100 dt=10 *6
-- no: db_statement server=localhost digest=a calls_per_s=100 time=0.1 errors=1 dt=10 *6
--
-- no: db_statement server=localhost digest=a calls_per_s=1 time=0.1 errors=3 dt=10 *6
-- A hundredth, and one a second.
WITH counted AS (
    SELECT run, host, server, sum(errors) / max(seen_s) AS rate, sum(calls_per_s) AS calls, max(seen_s) AS seen_s
    FROM db_statement_mean
    GROUP BY run, host, server
)
SELECT run, host, server, 100 * rate / calls AS share, rate
FROM counted
WHERE rate >= 1 AND rate >= 0.01 * calls AND seen_s >= 5
ORDER BY rate DESC, run, host, server
