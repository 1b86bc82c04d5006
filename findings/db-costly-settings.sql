-- title: The server logs or measures each statement
-- severity: warning
-- section: database
-- message: {server} has {settings}, and executed {rate:/s} transactions.
-- advice: Each statement then costs a line of the log, or its measurement, which on short statements can be as much as their work: log those above a duration (log_min_duration_statement, long_query_time), or a sample of them (log_min_duration_sample, log_transaction_sample_rate), or use the statistics of statements.
-- ask: db-settings
-- world: database
-- yes: db server=localhost commits_per_s=900 *20
-- yes: db_setting server=localhost name=log_statement value=all
-- yes: db_setting server=localhost name=log_duration value=on
--
-- yes: db server=localhost commits_per_s=900 *20
-- yes: db_setting server=localhost name=general_log value=ON
-- no: db server=localhost commits_per_s=9 *20
-- no: db_setting server=localhost name=log_statement value=all
--
-- no: db server=localhost commits_per_s=900 *20
-- no: db_setting server=localhost name=log_statement value=ddl
-- no: db_setting server=localhost name=log_min_duration_statement value=500
-- no: db_setting server=localhost name=general_log value=OFF
-- no: db_setting server=localhost name=slow_query_log value=ON
-- no: db_setting server=localhost name=long_query_time value=10.000000
-- What writes, or measures, something for every statement; from a hundred transactions a second on, where that is a cost.
WITH last AS (
    SELECT run, host, server, name, arg_max(value, t) AS value FROM db_setting WHERE coalesce(origin, '') <> 'server' GROUP BY run, host, server, name
), costly AS (
    SELECT run, host, server, string_agg(name || ' = ' || value, ', ' ORDER BY name) AS settings
    FROM last
    WHERE name = 'log_statement' AND value = 'all'
        OR name IN ('log_duration', 'log_parser_stats', 'log_planner_stats', 'log_executor_stats', 'log_statement_stats', 'debug_print_plan', 'general_log') AND lower(value) IN ('on', '1', 'yes')
        OR name = 'log_min_duration_statement' AND TRY_CAST(value AS DOUBLE) = 0
        OR name = 'auto_explain.log_min_duration' AND TRY_CAST(value AS DOUBLE) = 0
        OR name = 'long_query_time' AND TRY_CAST(value AS DOUBLE) = 0 AND EXISTS (SELECT 1 FROM last o WHERE o.run = last.run AND o.host = last.host AND o.server IS NOT DISTINCT FROM last.server AND o.name = 'slow_query_log' AND lower(o.value) IN ('on', '1'))
    GROUP BY run, host, server
)
SELECT c.run, c.host, c.server, c.settings, greatest(coalesce(s.transactions_per_s, 0), coalesce(s.statements_per_s, 0)) AS rate
FROM costly c JOIN db_server s ON s.run = c.run AND s.host = c.host AND s.server IS NOT DISTINCT FROM c.server
WHERE greatest(coalesce(s.transactions_per_s, 0), coalesce(s.statements_per_s, 0)) >= 100
ORDER BY rate DESC, c.run, c.host, c.server
