-- title: What happened when?
-- about: Marks, counter resets, missed samples, clock steps, devices that appeared or disappeared, and log lines, in order of time.
-- section: facts
-- chart: table
-- order: 20
SELECT run, host, t, kind, subject, priority, message
FROM event
ORDER BY run, host, t, kind, subject
