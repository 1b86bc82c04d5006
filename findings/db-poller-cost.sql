-- title: Asking costs the database server much
-- severity: warning
-- section: database
-- message: Answering Fenxi took {cost:%} of a CPU of {server}.
-- advice: Sample less often (--db-rate), or lengthen the interval; the figures contain this load.
-- ask: db-seen
-- kind: measurement
-- world: recording
-- yes: metric name=db_poller_server_cpu labels=server=localhost value=0.04 *40
-- no: metric name=db_poller_server_cpu labels=server=localhost value=0.002 *40
--
-- no: metric name=other_server_cpu labels=server=localhost value=0.4 *40
-- A hundredth of a CPU is what each reading is allowed.
SELECT run, host, regexp_extract(labels, 'server=(.*)', 1) AS server, 100 * wmean(value, dt) AS cost
FROM metric
WHERE name = 'db_poller_server_cpu'
GROUP BY run, host, labels
HAVING wmean(value, dt) >= 0.01 AND sum(dt) >= 30
ORDER BY cost DESC, run, host, server
