-- title: Which plans did statements have?
-- about: Plans that auto_explain wrote to PostgreSQL's log, without costs and times: how often each was seen, when first and last, and how long it took. Several plans of one statement: see whether the slower one came later. Only what took longer than auto_explain.log_min_duration is logged, and only plans in text form list their nodes.
-- section: database
-- chart: table
-- order: 29
-- param: n = 50, how many plans to show
WITH logged AS (
    SELECT run, host, t, split_part(message, chr(10), 1) AS line, substr(message, strpos(message, chr(10)) + 1) AS nodes
    FROM event WHERE kind = 'plan' AND strpos(message, chr(10)) > 0
), read AS (
    SELECT run, host, t, TRY_CAST(regexp_extract(line, '^([0-9.]+) ms: ', 1) AS DOUBLE) AS took_ms, regexp_replace(line, '^[0-9.]+ ms: ', '') AS statement,
        regexp_replace(nodes, ' *[(](cost|actual|never)[^)]*[)]', '', 'g') AS plan
    FROM logged
), plans AS (
    SELECT run, host, statement, plan, count(*) AS seen, min(t) AS first_t, max(t) AS last_t, avg(took_ms) AS mean_ms, max(took_ms) AS max_ms
    FROM read GROUP BY run, host, statement, plan
)
SELECT run, host, statement, count(*) OVER (PARTITION BY run, host, statement) AS plans_of_statement, seen, first_t, last_t, mean_ms, max_ms, plan
FROM plans
ORDER BY run, host, count(*) OVER (PARTITION BY run, host, statement) > 1 DESC, sum(mean_ms * seen) OVER (PARTITION BY run, host, statement) DESC, statement, first_t, plan
LIMIT $n
