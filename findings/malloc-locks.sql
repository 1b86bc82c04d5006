-- title: Threads wait for each other in malloc
-- severity: warning
-- section: process
-- message: Threads{of} were blocked by {lock} for {waited:s} in all, {events:time|times}, mostly in {caller}.
-- advice: One lock of the memory allocator lets one thread allocate at a time. Try an allocator made for threads (LD_PRELOAD=libjemalloc.so.2 or libtcmalloc_minimal.so.4, libmtmalloc.so of Solaris) and compare; or allocate less.
-- ask: lock-contention
-- explains: threads-take-turns, context-switch-storm, program-locks
-- yes: lock event="mutex block" lock=libc.so.1`libc_malloc_lock caller=libstdc++.so.6.0.3`_ZdlPv+0xe events=2175 mean_us=11867.793
--
-- yes: cpu usr=30 idle=70 *20
-- yes: lock comm=mal pid=7 event="mutex block" lock="malloc's main_arena" caller=work events=400 mean_us=500 *20
-- no: lock event="mutex hold" lock=libc.so.1`libc_malloc_lock caller=libstdc++.so.6.0.3`_ZdlPv+0xe events=3634393 mean_us=1.1
--
-- no: cpu usr=30 idle=70 *20
-- no: lock comm=mal pid=7 event="mutex block" lock="malloc's main_arena" caller=work events=4 mean_us=500 *20
--
-- no: cpu usr=30 idle=70 *20
-- no: lock comm=app pid=7 event="mutex block" lock=cache_lock caller=cache_get events=400 mean_us=500 *20
-- A tenth of a thread on average. Where the duration is unknown, a second in all, which is much more than allocations cost.
WITH sites AS (
    SELECT run, host, coalesce(comm, '') AS comm, coalesce(lock, 'a lock of malloc') AS lock, coalesce(caller, 'unknown places') AS caller, sum(coalesce(total_s, events * mean_us / 1e6)) AS waited, sum(events) AS events
    FROM lock
    WHERE (event LIKE '%block%' OR event LIKE '%spin%')
        AND (lock ILIKE '%malloc%' OR lock ILIKE '%main_arena%' OR regexp_matches(coalesce(caller, ''), '(^|`)(_?_?libc_)?(malloc|calloc|realloc|free|cfree|_Znwm|_Znam|_ZdlPv|_ZdaPv|_ZdlPvm)([+@]|$)'))
    GROUP BY run, host, coalesce(comm, ''), coalesce(lock, 'a lock of malloc'), coalesce(caller, 'unknown places')
), locks AS (
    SELECT run, host, comm, arg_max(lock, waited) AS lock, sum(waited) AS waited, sum(events) AS events, arg_max(caller, waited) AS caller FROM sites GROUP BY run, host, comm
)
SELECT l.run, l.host, CASE WHEN comm = '' THEN '' ELSE concat(' of ', comm) END AS of, lock, waited, CAST(round(events) AS BIGINT) AS events, caller
FROM locks l JOIN runs r ON r.run = l.run
WHERE waited >= CASE WHEN coalesce(r.duration_s, 0) >= 0.1 THEN 0.1 * r.duration_s ELSE 1 END
ORDER BY waited DESC, l.run, l.host
