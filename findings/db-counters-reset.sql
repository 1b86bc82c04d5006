-- title: Statistics of a database were reset during the run
-- severity: warning
-- section: database
-- message: {kind} at {subject}: {message}.
-- advice: What was counted before is lost, and caches may be cold: compare only what lies after it.
-- ask: events
-- comparison: warn
-- kind: measurement
-- world: database
-- yes: event kind=restart subject=localhost:5432 message="the server was started anew"
-- yes: db server=localhost:5432 commits_per_s=1 *3
-- no: event kind="clock step" subject=host message="the clock was set"
-- no: db server=localhost:5432 commits_per_s=1 *3
--
-- no: event kind="counter reset" subject=eth0 message="a counter went back"
-- no: db server=localhost:5432 commits_per_s=1 *3
-- Any restart, reset or change of role of a server that was observed.
SELECT e.run, e.host, e.kind, e.subject, rtrim(e.message, '.') AS message
FROM event e
JOIN (SELECT DISTINCT run, server FROM db) s ON s.run = e.run AND (e.subject = s.server OR starts_with(e.subject, concat(s.server, ' ')))
WHERE e.kind IN ('restart', 'counter reset', 'role changed')
ORDER BY e.run, e.t, e.subject
