-- title: What changed during the run?
-- about: Facts that differ between start and end, and events in between; a fair comparison needs this to be empty.
-- section: facts
-- chart: table
-- order: 10
WITH at_start AS (
    SELECT run, host, topic, name, value FROM text WHERE phase = 'start'
), at_end AS (
    SELECT run, host, topic, name, value, t FROM text WHERE phase = 'end'
), ended AS (
    SELECT DISTINCT run, host FROM at_end
), fact AS (
    SELECT run, host, at_end.t, 'fact' AS kind, concat_ws(' ', topic, name) AS subject,
        at_start.value AS before, at_end.value AS after
    FROM at_start FULL JOIN at_end USING (run, host, topic, name) JOIN ended USING (run, host)
    WHERE at_start.value IS DISTINCT FROM at_end.value
)
SELECT run, host, t, kind, subject, before, after FROM fact
UNION ALL
SELECT run, host, t, kind, subject, NULL AS before, message AS after FROM event
WHERE kind NOT IN ('fact changed', 'mark', 'log')
ORDER BY run, host, t NULLS LAST, kind, subject
