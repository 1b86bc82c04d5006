-- title: Most waited for
-- severity: info
-- section: process
-- message: {lock}{of} {waited:s}{caller}
-- yes: lock comm=app pid=7 event="mutex block" lock=cache_lock caller=cache_get events=90 mean_us=9000
-- no: lock comm=app pid=7 event="mutex hold" lock=cache_lock caller=cache_get events=90 mean_us=9000
--
-- no: lock comm=app pid=7 event="mutex block" lock=cache_lock caller=cache_get events=9 mean_us=2
-- Locks by the time that threads were blocked by them, with the place that waited most; a hundredth of a second in all at least.
WITH sites AS (
    SELECT run, host, coalesce(comm, '') AS comm, coalesce(lock, 'an unnamed lock') AS lock, coalesce(caller, '') AS caller, sum(coalesce(total_s, events * mean_us / 1e6)) AS waited
    FROM lock
    WHERE event LIKE '%block%' OR event LIKE '%spin%' OR event LIKE '%wait%'
    GROUP BY run, host, coalesce(comm, ''), coalesce(lock, 'an unnamed lock'), coalesce(caller, '')
), locks AS (
    SELECT run, host, comm, lock, sum(waited) AS waited, arg_max(caller, waited) AS caller FROM sites GROUP BY run, host, comm, lock
)
SELECT run, host, lock, CASE WHEN comm = '' THEN '' ELSE concat(' of ', comm) END AS of, waited, CASE WHEN caller = '' THEN '' ELSE concat(', mostly in ', caller) END AS caller
FROM locks
WHERE waited >= 0.01
ORDER BY waited DESC, run, host, lock, of
