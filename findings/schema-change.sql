-- title: The schema is changed, or tables are locked
-- severity: warning
-- section: database
-- periods: inside, rest
-- message: {summary}, while less is done: a change of a table waits for all that use it, and whatever comes later waits behind it.
-- advice: See which session alters, truncates or locks a table and what it waits for: an open transaction that used the table. End that one, or give the change a short lock timeout (lock_wait_timeout, lock_timeout) and try again.
-- ask: db-blocking
-- explains: locks-more, table-flush, commits-slower, network-slower, server-stalls
-- yes: db commits_per_s=100 *60
-- yes: metric name=mysql.Com_alter_table_per_s value=0 *60
-- yes: inside db commits_per_s=20 *30 @60
-- yes: inside metric name=mysql.Com_alter_table_per_s value=0.2 *30 @60
-- no: db commits_per_s=100 *60
-- no: metric name=mysql.Com_alter_table_per_s value=0 *60
-- no: inside db commits_per_s=110 *30 @60
-- no: inside metric name=mysql.Com_alter_table_per_s value=0.2 *30 @60
-- Changes of a schema are made at any time; one matters where the work falls by a third, and nothing else rises that explains it.
SELECT m.run, m.host, c.summary, m.severity, least(4, -work) AS weight
FROM moves m JOIN change c ON c.run = m.run AND c.is_first = 1 AND c.means = 'ddl'
WHERE (ddl >= 0.5 OR c.rest = 0 AND c.inside > 0) AND work <= -0.6 AND coalesce(cpu_use, 0) <= 0.1 AND coalesce(own_work, 0) < 0.3
ORDER BY weight DESC
