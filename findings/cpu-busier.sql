-- title: Statements of the database use more CPU time
-- severity: warning
-- section: cpu
-- periods: inside, rest
-- message: {summary}, and {executing}, though no more is done: statements cost more CPU time than before{other}.
-- advice: Look at statements by CPU time and their plans, and at new ones; process counters (record with process) distinguish statements from another program.
-- ask: db-statements
-- explains: locks-more, outside-load
-- yes: db commits_per_s=45 active_sessions=60 waiting_sessions=46 *60
-- yes: cpu usr=35 sys=5 idle=60 *60
-- yes: sched runnable=3 *60
-- yes: inside db commits_per_s=32 active_sessions=124 waiting_sessions=54 *30 @60
-- yes: inside cpu usr=93 sys=3 idle=4 *30 @60
-- yes: inside sched runnable=60 *30 @60
-- no: db commits_per_s=45 active_sessions=60 waiting_sessions=46 *60
-- no: cpu usr=35 sys=5 idle=60 *60
-- no: inside db commits_per_s=32 active_sessions=62 waiting_sessions=48 *30 @60
-- no: inside cpu usr=93 sys=3 idle=4 *30 @60
--
-- no: db commits_per_s=45 active_sessions=6 *60
-- no: cpu usr=35 sys=5 idle=60 *60
-- no: inside db commits_per_s=100 active_sessions=20 *30 @60
-- no: inside cpu usr=93 sys=3 idle=4 *30 @60
-- A program that takes the CPUs makes statements last longer, so that more of them are at work: where the processes are not known, who is
-- first is not, and the sentence has both. Where more tasks became runnable than sessions, they are another's.
SELECT m.run, m.host, c.summary, m.severity, least(4, greatest(cpu_use_cost, cpu_use)) AS weight,
    coalesce(round(executing_inside, 1) || ' sessions work and wait for no lock where ' || round(executing_rest, 1) || ' did', 'its processes use it') AS executing,
    CASE WHEN own_cpu IS NOT NULL THEN '' ELSE ', or another program makes them wait for a CPU' END AS other
FROM moves m JOIN change c ON c.run = m.run AND c.is_first = 1 AND c.means = 'cpu_use'
WHERE throughput IS NOT NULL AND work <= 0.1 AND cpu_use >= 0.3 AND c.inside - c.rest >= 8 AND own_cost < 0.5 AND own_work < 0.3
    AND coalesce(sessions, 0) < 0.4 AND coalesce(other_cpu, 0) < 0.6 AND coalesce(stolen, 0) < 0.6 AND is_own_cpu
ORDER BY weight DESC
