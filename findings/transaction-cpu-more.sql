-- title: A transaction takes more CPU time
-- severity: warning
-- section: database
-- periods: inside, rest
-- names-cause: broadly
-- message: {summary}, while fewer transactions are made: each takes {times} times the CPU time of the server{kernel}, and reads and changes no more rows.
-- advice: Look for what the same rows cost now: dead rows that are passed over (vacuum, an old snapshot), functions and triggers, another plan, a setting that traces or checks, new connections. `fenxi record -s +profile` shows the functions.
-- ask: db-statements-by
-- explains: locks-more, less-work-arrives
-- yes: db commits_per_s=1000 rows_fetched_per_s=1000 *60
-- yes: process pid=7 comm=postgres cpu=60 *60
-- yes: inside db commits_per_s=400 rows_fetched_per_s=400 *30 @60
-- yes: inside process pid=7 comm=postgres cpu=95 *30 @60
-- no: db commits_per_s=1000 rows_fetched_per_s=1000 *60
-- no: process pid=7 comm=postgres cpu=60 *60
-- no: inside db commits_per_s=400 rows_fetched_per_s=400 *30 @60
-- no: inside process pid=7 comm=postgres cpu=25 *30 @60
--
-- no: db commits_per_s=1000 rows_fetched_per_s=1000 *60
-- no: process pid=7 comm=postgres cpu=60 *60
-- no: inside db commits_per_s=400 rows_fetched_per_s=90000 *30 @60
-- no: inside process pid=7 comm=postgres cpu=95 *30 @60
-- Seven tenths more, and no less in all: a server that is starved of CPUs, or waits, uses less. Another finding is about what reads more rows.
SELECT m.run, m.host, c.summary, m.severity, round(pow(2, own_cpu_cost), 1) AS times,
    CASE WHEN kernel >= 0.5 THEN ', most of the rise in the kernel' ELSE '' END AS kernel, least(3, own_cpu_cost) AS weight
FROM moves m JOIN change c ON c.run = m.run AND c.is_first = 1 AND c.means = 'own_cpu'
WHERE own_cpu_cost >= 0.8 AND own_cpu > -0.3 AND work <= -0.3 AND own_cost < 0.8 AND coalesce(ddl_cost, 0) < 1
    AND coalesce(dump, 0) < 0.5 AND coalesce(redo_cost, log_cost, 0) < 0.8 AND coalesce(locks_cost, 0) < 1
ORDER BY weight DESC
