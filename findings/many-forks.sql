-- title: Processes are created at a high rate
-- severity: info
-- section: process
-- message: {forks:/s} processes or threads were created over {seen_s:s}.
-- advice: Creating, starting and ending a process costs about a millisecond of CPU time. Look for shell scripts in loops, a process per connection, or a pool that is too small. Normal for a build.
-- ask: scheduler-rates
-- yes: sched forks_per_s=400 *30
-- no: sched forks_per_s=5 *30
--
-- no: sched forks_per_s=900 *1
-- no: sched forks_per_s=1 *29 @1
-- A hundred a second are then a tenth of a CPU.
SELECT run, host, wmean(forks_per_s, dt) AS forks, sum(dt) AS seen_s
FROM sched
GROUP BY run, host
HAVING wmean(forks_per_s, dt) >= 100 AND sum(dt) >= 3
ORDER BY forks DESC, run, host
