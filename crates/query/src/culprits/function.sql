-- title: Hottest functions
-- severity: info
-- section: process
-- message: {function}{of} {share:%} of {what}
-- yes: stack comm=hot event=on-cpu stack="main;slow_parse" samples=84 *3
-- yes: stack comm=hot event=on-cpu stack="main;other" samples=16 *3
-- no: stack comm=hot event=off-cpu stack="main;poll" samples=90 *3
--
-- no: stack comm=hot event=on-cpu stack="main;a" samples=2
-- The innermost frames of samples on CPUs, twenty samples at least: fewer give no share. Frames that are only addresses are no names.
WITH on_cpu AS (
    SELECT run, host, coalesce(comm, '') AS comm, coalesce(event, 'on-cpu') AS event, samples, regexp_extract(stack, '[^;]*$') AS leaf
    FROM stack
    WHERE coalesce(event, 'on-cpu') NOT IN ('off-cpu', 'wakeup') AND samples > 0
), summed AS (
    SELECT run, host, event, comm, leaf, sum(samples) AS samples FROM on_cpu GROUP BY run, host, event, comm, leaf
), shares AS (
    SELECT *, sum(samples) OVER (PARTITION BY run, host, event) AS total FROM summed
), events AS (
    SELECT * FROM shares QUALIFY total = max(total) OVER (PARTITION BY run, host)
)
SELECT run, host, leaf AS function, CASE WHEN comm = '' THEN '' ELSE concat(' of ', comm) END AS of, 100 * samples / total AS share,
    CASE WHEN event = 'on-cpu' THEN 'on-CPU samples' ELSE concat('samples of ', event) END AS what
FROM events
WHERE total >= 20 AND samples >= 0.05 * total AND leaf <> '' AND NOT regexp_matches(leaf, '^(0x[0-9a-f]+|\[unknown\]|\?+)$')
ORDER BY share DESC, run, host, function, of
