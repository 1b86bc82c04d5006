-- title: Most time in system calls
-- severity: info
-- section: process
-- message: {syscall}{of} {spent:s} in {calls:/s} calls
-- yes: syscall comm=app syscall=write calls=9000 elapsed_s=0.4 *9
-- no: syscall comm=app syscall=write calls=1 elapsed_s=0.0001 *9
--
-- no: syscall comm=app syscall=poll calls=9 elapsed_s=0.9 *9
-- Calls that wait for something to do say nothing.
WITH spans AS (
    SELECT run, host, sum(coalesce(dt, 1)) AS seen_s FROM (SELECT DISTINCT run, host, t, dt FROM syscall) GROUP BY run, host
), spent AS (
    SELECT run, host, coalesce(comm, '') AS comm, syscall, sum(coalesce(cpu_s, elapsed_s)) AS spent, sum(calls) AS calls
    FROM syscall
    WHERE syscall IS NOT NULL AND NOT regexp_matches(syscall, '^(p?poll|p?select6?|ppoll|pselect6|epoll_p?wait2?|futex|nanosleep|clock_nanosleep|wait4|waitid|accept4?|pause|rt_sigtimedwait|restart_syscall|io_getevents|recvfrom|recvmsg|lwp_park|pollsys)$')
    GROUP BY run, host, coalesce(comm, ''), syscall
)
SELECT c.run, c.host, syscall, CASE WHEN comm = '' THEN '' ELSE concat(' of ', comm) END AS of, spent, calls / nullif(seen_s, 0) AS calls
FROM spent c JOIN spans s ON s.run = c.run AND s.host = c.host
WHERE spent >= 0.01 * seen_s AND calls > 0
ORDER BY spent DESC, c.run, c.host, syscall, of
