-- title: How much of the DB time do statements account for?
-- about: Time in statements as the server counts it, and what is left of the DB time: parsing, planning, protocol, statements that were cancelled or evicted. A large remainder with a busy CPU means many tiny statements. Counts come at a statement's end, so that a single interval can have less than nothing left.
-- section: database
-- chart: stacked
-- x: t
-- y: in_statements, remainder
-- series: server
-- unit: s/s
-- order: 8
WITH counted AS (
    SELECT run, host, server, t, max(dt) AS dt, sum(s.time) AS in_statements
    FROM db_statement s
    WHERE coalesce(nested, 'no') <> 'yes' AND s.time IS NOT NULL AND dt > 0
    GROUP BY run, host, server, t
), spent AS (
    SELECT c.run, c.host, c.server, c.t, sum(w.time * w.dt) / any_value(c.dt) AS db_time
    FROM counted c
    JOIN db_best_wait w ON w.run = c.run AND w.host = c.host AND w.server IS NOT DISTINCT FROM c.server
        AND w.t <= c.t AND epoch_us(w.t) > epoch_us(c.t) - c.dt * 1e6 + 5e5
    WHERE in_db_time
    GROUP BY c.run, c.host, c.server, c.t
)
SELECT c.run, c.host, c.t, c.dt, c.server, c.in_statements, greatest(s.db_time - c.in_statements, 0) AS remainder, s.db_time
FROM counted c
LEFT JOIN spent s ON s.run = c.run AND s.host = c.host AND s.server IS NOT DISTINCT FROM c.server AND s.t = c.t
ORDER BY c.run, c.host, c.server, c.t
