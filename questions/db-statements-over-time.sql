-- title: Which statements changed over time?
-- about: Mean concurrency of the ten largest statements over time. A statement's time is counted at its end.
-- section: database
-- chart: stacked
-- x: t
-- y: running
-- series: statement
-- unit: s/s
-- order: 31
-- param: n = 10, how many statements to show
WITH counted AS (
    SELECT run, host, t, max(dt) AS dt, coalesce(digest, statement) AS digest, concat(left(any_value(statement), 60), ' ', left(digest, 6)) AS statement, sum(s.time) AS spent
    FROM db_statement s
    WHERE coalesce(nested, 'no') <> 'yes' AND s.time IS NOT NULL
    GROUP BY run, host, t, coalesce(digest, s.statement), s.digest
), largest AS (
    SELECT run, host, digest, any_value(statement) AS statement FROM counted GROUP BY run, host, digest
    QUALIFY row_number() OVER (PARTITION BY run, host ORDER BY sum(spent * coalesce(dt, 1)) DESC, digest) <= $n
), moments AS (
    SELECT run, host, t, max(dt) AS dt FROM counted GROUP BY run, host, t
)
SELECT m.run, m.host, m.t, m.dt, l.statement, coalesce(sum(c.spent), 0) AS running
FROM moments m
JOIN largest l ON l.run = m.run AND l.host = m.host
LEFT JOIN counted c ON c.run = m.run AND c.host = m.host AND c.t = m.t AND c.digest = l.digest
GROUP BY m.run, m.host, m.t, m.dt, l.statement
ORDER BY m.run, m.host, l.statement, m.t
