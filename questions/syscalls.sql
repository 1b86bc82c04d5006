-- title: Which system calls took the most time?
-- about: System calls by total elapsed time, with counts and errors; many short ones may be avoidable.
-- section: process
-- chart: table
-- order: 62
-- live: syscall: elapsed_s
-- param: n = 30, how many to show
SELECT run, host, comm, syscall, sum(calls) AS calls, sum(errors) AS errors, sum(elapsed_s) AS elapsed_s, sum(cpu_s) AS cpu_s
FROM syscall
GROUP BY run, host, comm, syscall
ORDER BY run, elapsed_s DESC NULLS LAST, cpu_s DESC NULLS LAST, calls DESC NULLS LAST
LIMIT $n
