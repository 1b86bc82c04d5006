-- title: Samples of a database's sessions are missing
-- severity: warning
-- section: database
-- message: {missed:%} of the looks at the sessions of {server} came too late and were left out.
-- advice: Neither the sampler nor the server's session that answers it got a CPU in time, and they miss most where it is busiest. Trust counters and the kernel's times (measured is os), sample less often (--db-rate), or observe from another machine. Mistaken for an idle server: what is missing shows as fewer sessions at work.
-- ask: db-seen
-- kind: measurement
-- comparison: warn
-- world: database
-- yes: db server=localhost samples=8 *40
-- yes: metric name=db_poller_late labels=server=localhost value=2 *40
-- no: db server=localhost samples=10 *40
-- no: metric name=db_poller_late labels=server=localhost value=3 *2
--
-- no: db server=localhost samples=8 *3
-- no: metric name=db_poller_late labels=server=localhost value=2 *3
--
-- no: db server=localhost samples=10 *40
-- A twentieth of what was due.
WITH late AS (
    SELECT run, host, regexp_extract(labels, 'server=(.*)', 1) AS server, sum(value) AS late FROM metric WHERE name = 'db_poller_late' GROUP BY run, host, labels
), taken AS (
    SELECT run, host, server, sum(samples) AS taken, sum(dt) AS seen_s FROM db d WHERE d.database IS NULL AND samples IS NOT NULL GROUP BY run, host, server
)
SELECT t.run, t.host, t.server, 100 * l.late / (l.late + t.taken) AS missed
FROM taken t
JOIN late l ON l.run = t.run AND l.host = t.host AND l.server = t.server
WHERE l.late >= 0.05 * (l.late + t.taken) AND t.seen_s >= 30
ORDER BY missed DESC, t.run, t.host, t.server
