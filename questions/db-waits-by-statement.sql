-- title: What did each statement wait for, exactly?
-- about: Time off a CPU by wait event, in the run queue and on a CPU, per statement, measured at context switches (trace dbwait). Needs numbers of statements (compute_query_id, pg_stat_statements).
-- section: database
-- chart: table
-- order: 11
-- param: n = 30, how many lines to show
WITH texts AS (
    SELECT run, host, server, query_id, any_value(statement) AS statement FROM db_session WHERE query_id IS NOT NULL GROUP BY run, host, server, query_id
    UNION ALL
    SELECT run, host, server, query_id, any_value(statement) FROM db_statement WHERE query_id IS NOT NULL GROUP BY run, host, server, query_id
), named AS (
    SELECT run, host, server, query_id, any_value(statement) AS statement FROM texts GROUP BY run, host, server, query_id
), waits AS (
    SELECT run, host, server, query_id, activity, wait_class, wait_event, sum(w.time * dt) AS time_s, sum(waits_per_s * dt) AS waits,
        sum(mean_ms * waits_per_s * dt) / nullif(sum(waits_per_s * dt) FILTER (mean_ms IS NOT NULL), 0) AS mean_ms
    FROM db_statement_wait w
    GROUP BY run, host, server, query_id, activity, wait_class, wait_event
)
SELECT w.run, w.host, w.server, n.statement, activity, wait_class, wait_event, time_s, round(waits) AS waits, mean_ms, w.query_id
FROM waits w LEFT JOIN named n ON n.run = w.run AND n.host = w.host AND n.server = w.server AND n.query_id = w.query_id
ORDER BY w.run, time_s DESC, w.query_id, wait_event
LIMIT $n
