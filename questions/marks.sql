-- title: Which moments are marked?
-- about: Marks, changes of phase, lines of logs and other events, those of one kind within a hundredth of the run together: what charts over time show as lines.
-- section: facts
-- chart: table
-- order: 21
-- param: n = 150, how many at most; marks before errors, and these before what else was logged
WITH placed AS (
    SELECT e.run, e.host, e.kind, e.subject, e.message, (epoch_us(e.t) - epoch_us(runs.start)) / 1e6 AS at_s, runs.duration_s,
        CASE WHEN e.kind IN ('mark', 'phase') THEN 1
            WHEN e.priority IN ('emerg', 'alert', 'crit', 'err') THEN 2
            WHEN e.kind <> 'log' THEN 3
            WHEN e.priority = 'warning' THEN 4
            ELSE 5 END AS place
    FROM event e JOIN runs ON runs.run = e.run
    WHERE e.t IS NOT NULL AND coalesce(e.priority, '') <> 'debug'
), slots AS (
    SELECT *, CASE WHEN place = 1 THEN at_s ELSE floor(100 * at_s / greatest(duration_s, 1e-3)) END AS slot
    FROM placed
    WHERE at_s BETWEEN -1 AND duration_s + 1
), ordered AS (
    SELECT *, row_number() OVER (PARTITION BY run, host, kind, place, slot ORDER BY at_s, subject, message) AS nth
    FROM slots
), together AS (
    SELECT run, host, min(at_s) AS at_s, max(at_s) AS until_s, kind, place, count(*) AS events,
        max(subject) FILTER (nth = 1) AS subject, max(message) FILTER (nth = 1) AS message
    FROM ordered
    GROUP BY run, host, kind, place, slot
    QUALIFY row_number() OVER (PARTITION BY run ORDER BY place, min(at_s), host, kind) <= $n
)
SELECT run, host, at_s, until_s, kind, place, events, subject, message
FROM together
ORDER BY run, at_s, place, host, kind
