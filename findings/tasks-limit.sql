-- title: A cgroup may have no more tasks
-- severity: critical
-- section: process
-- says: {cgroup} could not make a process or thread {hits} times: it may have {most}, and had {tasks}.
-- advice: fork and clone fail there (EAGAIN, "Resource temporarily unavailable"): programs report errors or do without. Raise pids.max of the group (TasksMax of a systemd unit, `--pids-limit` of a container), or find what makes so many: `fenxi ask top-processes`.
-- ask: cgroup-usage
-- explains: load-errors, command-failed, connects-wait, listen-overflows, many-forks
-- yes: cgroup cgroup=/app task_limit_hits=2 tasks=64 task_limit=64 *5
--
-- yes: cgroup cgroup=/app task_limit_hits=0 tasks=64 task_limit=64
-- yes: cgroup cgroup=/app task_limit_hits=1 tasks=60 task_limit=64 @1
-- no: cgroup cgroup=/app task_limit_hits=0 tasks=64 task_limit=64 *20
--
-- no: cgroup cgroup=/app tasks=64 *20
-- One is enough: something was not done. That a group is full says nothing, as a pool of fixed size is.
SELECT run, host, cgroup, CAST(sum(task_limit_hits) AS BIGINT) AS hits, CAST(max(tasks) AS BIGINT) AS tasks, CAST(max(task_limit) AS BIGINT) AS most
FROM cgroup
GROUP BY run, host, cgroup
HAVING sum(task_limit_hits) >= 1
ORDER BY hits DESC, run, host, cgroup
