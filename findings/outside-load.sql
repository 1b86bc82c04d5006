-- title: Something else takes CPU time
-- severity: warning
-- section: cpu
-- periods: inside, rest
-- message: {summary}, while the database does no more than before: another program, or another machine on this hardware, takes it.
-- advice: See which processes used the CPUs then (record with process), and steal on a virtual machine; give the server dedicated CPUs or move the other work.
-- ask: top-processes
-- explains: locks-more
-- yes: db commits_per_s=100 rows_returned_per_s=5000 *60
-- yes: cpu usr=30 idle=70 *60
-- yes: inside db commits_per_s=60 rows_returned_per_s=3000 *30 @60
-- yes: inside cpu usr=98 idle=2 *30 @60
-- no: db commits_per_s=100 rows_returned_per_s=5000 *60
-- no: cpu usr=30 idle=70 *60
-- no: inside db commits_per_s=60 rows_returned_per_s=300000 *30 @60
-- no: inside cpu usr=98 idle=2 *30 @60
--
-- no: db commits_per_s=100 *60
-- no: cpu usr=30 idle=70 *60
-- no: inside db commits_per_s=300 *30 @60
-- no: inside cpu usr=90 idle=10 *30 @60
--
-- no: db commits_per_s=100 rows_returned_per_s=5000 connects_per_s=0.1 *60
-- no: cpu usr=20 sys=10 idle=70 *60
-- no: inside db commits_per_s=60 rows_returned_per_s=3000 connects_per_s=60 *30 @60
-- no: inside cpu usr=28 sys=70 idle=2 *30 @60
--
-- no: db commits_per_s=100 rows_returned_per_s=5000 *60
-- no: process pid=7 comm=postgres cpu=60 *60
-- no: cpu usr=30 idle=70 *60
-- no: inside db commits_per_s=40 rows_returned_per_s=2000 *30 @60
-- no: inside process pid=7 comm=postgres cpu=82 *30 @60
-- no: inside cpu usr=80 idle=20 *30 @60
-- New connections are processes or threads of the server, too short to be counted as its own CPU time.
-- Eight points of CPU time are more than what a recorder, a poller or a cron job takes.
SELECT m.run, m.host, c.summary, m.severity, least(4, greatest(stolen, other_cpu, cpu_use_cost, cpu_use, kernel_cost)) AS weight
FROM moves m JOIN change c ON c.run = m.run AND c.is_first = 1
    AND c.means = CASE WHEN stolen >= 0.6 THEN 'stolen' WHEN other_cpu >= 0.6 THEN 'other_cpu' WHEN cpu_use >= 0.3 THEN 'cpu_use' ELSE 'kernel' END
WHERE throughput IS NOT NULL AND (m.severity = 'warning' OR c.inside >= 90) AND work <= 0.1 AND own_cost < 0.5 AND own_work < 0.3
    AND coalesce(redo_cost, 0) < 0.5 AND coalesce(sessions, 0) < 0.4 AND coalesce(connects, connects_cost, 0) < 0.5 AND coalesce(flushes, 0) < 1.2 AND (NOT is_own_cpu OR greatest(other_cpu, stolen) >= 0.6)
    AND NOT coalesce(own_cpu > 0.2 AND own_cpu_cost >= 0.8 AND greatest(other_cpu, stolen, 0) < 0.6, false)
    AND c.inside - c.rest >= 8 AND (greatest(cpu_use, kernel) >= 0.3 AND greatest(cpu_use_cost, kernel_cost, 0) >= 0.4 OR stolen >= 0.6)
ORDER BY weight DESC
