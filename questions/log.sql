-- title: What was logged?
-- about: Lines of the kernel's log and of recorded or imported log files, by program and priority: how many, when, and the latest one; the most urgent first.
-- section: facts
-- chart: table
-- order: 22
WITH lines AS (
    SELECT *, max(t) OVER (PARTITION BY run, host, subject, priority) AS last_t
    FROM event
    WHERE kind = 'log'
)
SELECT run, host, subject AS program, priority, count(*) AS lines, min(t) AS first, max(t) AS last, max(message) FILTER (t = last_t) AS latest
FROM lines
GROUP BY run, host, subject, priority
ORDER BY run, host, list_position(['emerg', 'alert', 'crit', 'err', 'warning', 'notice', 'info', 'debug'], priority) NULLS LAST,
    lines DESC, program
