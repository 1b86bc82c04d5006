-- title: A program has reached its limit of open files
-- severity: warning
-- section: process
-- message: {comm} (process {pid}) had {held} of {most} file descriptors open, for {held_s:s}.
-- advice: From there on open, accept and socket fail (EMFILE): connections wait or are refused, and a server may spin. Close what is not used (see what it has open: `ls -l /proc/PID/fd`), or raise the limit: `ulimit -n`, LimitNOFILE of a systemd unit, /etc/security/limits.conf.
-- ask: top-processes
-- explains: program-sleeps, listen-overflows, waits-for-peer, connects-wait, load-errors, sys-time-high, command-failed
-- impact: held_s / seen_s of the time
-- yes: sched cpus_online=4 *20
-- yes: process pid=7 comm=server cpu=20 fds=1024 fd_limit=1024 *15
--
-- yes: sched cpus_online=4 *20
-- yes: process pid=7 comm=server cpu=20 fds=63 fd_limit=64 *15
-- no: sched cpus_online=4 *20
-- no: process pid=7 comm=server cpu=20 fds=900 fd_limit=1024 *20
--
-- no: sched cpus_online=4 *20
-- no: process pid=7 comm=server cpu=20 fds=1024 fd_limit=1024 *1
-- no: process pid=7 comm=server cpu=20 fds=30 fd_limit=1024 *19 @1
--
-- no: sched cpus_online=4 *20
-- no: process pid=7 comm=server cpu=20 fds=1024 *20
-- All but one, or all but a hundredth: who takes what it is given closes one before it opens the next. For two seconds: one look may
-- find a program that closes most of them next.
WITH spans AS (
    SELECT run, host, sum(dt) AS seen_s FROM sched GROUP BY run, host
)
SELECT p.run, p.host, p.comm, p.pid, CAST(max(fds) AS BIGINT) AS held, CAST(arg_max(fd_limit, fds) AS BIGINT) AS most, sum(dt) AS held_s, any_value(s.seen_s) AS seen_s
FROM process p JOIN spans s ON s.run = p.run AND s.host = p.host
WHERE fd_limit >= 16 AND fds >= fd_limit - greatest(1, 0.01 * fd_limit)
GROUP BY p.run, p.host, p.comm, p.pid
HAVING sum(dt) >= 2
ORDER BY held_s DESC, p.run, p.host, p.comm, p.pid
