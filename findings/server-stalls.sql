-- title: Sessions are held up inside the server, as by a flush or a global lock
-- severity: warning
-- section: database
-- periods: inside, rest
-- message: {summary}, though {active}: they wait neither for row locks nor for the CPUs{writes}.
-- advice: Look for FLUSH statements, a read lock of the whole server, a change of the schema, a checkpoint or a log flush that all wait for: what sessions wait for is in the server's list of them.
-- ask: db-waits
-- explains: locks-more, less-work-arrives
-- yes: db commits_per_s=50 active_sessions=60 waiting_sessions=48 *60
-- yes: cpu usr=25 sys=5 idle=70 *60
-- yes: inside db commits_per_s=1 active_sessions=64 waiting_sessions=50 *30 @60
-- yes: inside cpu usr=2 sys=1 idle=97 *30 @60
-- no: db commits_per_s=50 active_sessions=60 waiting_sessions=48 *60
-- no: cpu usr=25 sys=5 idle=70 *60
-- no: inside db commits_per_s=1 active_sessions=64 waiting_sessions=63 *30 @60
-- no: inside cpu usr=2 sys=1 idle=97 *30 @60
--
-- no: db commits_per_s=50 active_sessions=12 waiting_sessions=0 *60
-- no: cpu usr=25 sys=5 idle=70 *60
-- no: inside db commits_per_s=1 active_sessions=0.5 waiting_sessions=0 *30 @60
-- no: inside cpu usr=2 sys=1 idle=97 *30 @60
--
-- no: db commits_per_s=50 active_sessions=60 waiting_sessions=48 *60
-- no: cpu usr=25 sys=5 idle=70 *60
-- no: inside db commits_per_s=10 active_sessions=64 waiting_sessions=50 *30 @60
-- no: inside cpu usr=90 sys=5 idle=5 *30 @60
-- As many sessions as before work and wait for no row lock, yet a third of the work is done, and little CPU time is used for it.
SELECT m.run, m.host, c.summary, m.severity, 3.5 AS weight,
    round(active_inside, 1) || ' sessions are active, and were ' || round(active_rest, 1) AS active,
    CASE WHEN own_writes > -0.3 AND log <= -1 THEN ', while pages are written as before' ELSE '' END AS writes
FROM moves m JOIN change c ON c.run = m.run AND c.is_first = 1 AND c.means = 'throughput'
WHERE m.severity = 'warning' AND work <= -1.5 AND active IS NOT NULL AND active > -0.2 AND waiting_inside IS NOT NULL AND executing_inside >= 3 AND executing >= -0.9
    AND cpu_use <= -1 AND own_work < 0.1 AND coalesce(iowait, 0) < 0.7 AND coalesce(ddl, 0) < 0.5 AND coalesce(flushes, 0) < 1.2
    AND coalesce(sent, 0) < 0.5 AND coalesce(round_trip, 0) < 0.5 AND coalesce(retransmits, 0) < 1
ORDER BY weight DESC
