-- title: A cgroup may have no more tasks
-- severity: critical
-- section: process
-- message: {cgroup} could not make a process or thread {hits:time|times}: it may have {most}, and had {tasks}.
-- advice: fork and clone fail there (EAGAIN, "Resource temporarily unavailable"): programs report errors or do without. Raise pids.max of the group (TasksMax of a systemd unit, `--pids-limit` of a container), or find what makes so many: `fenxi ask top-processes`.
-- ask: cgroup-usage
-- explains: program-sleeps, load-errors, command-failed, connects-wait, listen-overflows, many-forks
-- yes: cgroup cgroup=/app task_limit_hits=2 tasks=64 task_limit=64 *5
--
-- yes: cgroup cgroup=/app task_limit_hits=0 tasks=64 task_limit=64
-- yes: cgroup cgroup=/app task_limit_hits=1 tasks=60 task_limit=64 @1
--
-- yes: cgroup cgroup=/slice task_limit_hits=2 tasks=64 task_limit=64 *5
-- yes: cgroup cgroup=/slice/app task_limit_hits=2 tasks=60 *5
-- no: cgroup cgroup=/app task_limit_hits=0 tasks=64 task_limit=64 *20
--
-- no: cgroup cgroup=/app tasks=64 *20
--
-- no: cgroup cgroup=/slice task_limit_hits=2 tasks=64 *5
-- One is enough: something was not done. That a group is full means nothing, as a pool of fixed size is. Depending on the kernel the hits
-- are counted where the task would have been made, or there and in all groups above: the innermost group that counted one is named, and
-- the smallest limit that holds for it, its own or that of a group above.
WITH hits AS (
    SELECT run, host, cgroup, sum(task_limit_hits) AS hits, max(tasks) AS tasks FROM cgroup GROUP BY run, host, cgroup HAVING sum(task_limit_hits) >= 1
), limits AS (
    SELECT run, host, cgroup, max(task_limit) AS task_limit FROM cgroup WHERE task_limit IS NOT NULL GROUP BY run, host, cgroup
)
SELECT h.run, h.host, h.cgroup, CAST(h.hits AS BIGINT) AS hits, CAST(h.tasks AS BIGINT) AS tasks, CAST(min(l.task_limit) AS BIGINT) AS most
FROM hits h JOIN limits l ON l.run = h.run AND l.host = h.host AND (h.cgroup = l.cgroup OR l.cgroup = '/' OR starts_with(h.cgroup, l.cgroup || '/'))
WHERE NOT EXISTS (SELECT 1 FROM hits i WHERE i.run = h.run AND i.host = h.host AND i.cgroup <> h.cgroup AND (h.cgroup = '/' OR starts_with(i.cgroup, h.cgroup || '/')))
GROUP BY h.run, h.host, h.cgroup, h.hits, h.tasks
ORDER BY hits DESC, h.run, h.host, h.cgroup
