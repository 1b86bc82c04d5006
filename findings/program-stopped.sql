-- title: A program is stopped
-- severity: warning
-- section: process
-- message: {waiting} threads of {comm} were stopped on average, {share:%} of their time (in {function}).
-- advice: A signal stops it (SIGSTOP, a terminal), or a debugger or strace that stops it at each system call, or its cgroup is frozen. See State and TracerPid in /proc/PID/status, and cgroup.freeze.
-- ask: thread-waits
-- comparison: warn
-- explains: waits-for-peer, sends-wait, context-switch-storm, sys-time-high
-- impact: share of its threads' time
-- yes: sched cpus_online=4 *20
-- yes: thread_wait pid=7 comm=app wait=stopped function=ptrace_stop threads=0.6 role=command *20
-- yes: thread_wait pid=7 comm=app wait=run threads=0.4 role=command *20
-- no: sched cpus_online=4 *20
-- no: thread_wait pid=7 comm=app wait=stopped function=do_signal_stop threads=1 role=command *1
-- no: thread_wait pid=7 comm=app wait=run threads=1 role=command *19 @1
-- A tenth of its time: a measured program is not stopped on purpose.
SELECT run, host, comm, steady(sum(threads)) AS waiting, 100 * sum(threads) / nullif(sum(at_work), 0) AS share, arg_max(function, threads) AS function
FROM thread_wait_mean
WHERE looks >= 2 AND seen_s >= 3 AND is_subject AND wait = 'stopped'
GROUP BY run, host, comm
HAVING sum(threads) >= 0.1
ORDER BY waiting DESC, run, host, comm
