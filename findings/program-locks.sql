-- title: Threads of a program wait for a lock
-- severity: warning
-- section: process
-- message: Threads{of} were blocked by {lock} for {waited:s} in all, {events:time|times}, mostly in {caller}{held}.
-- advice: Look at what is done while the lock is held: hold it for less, split it, or work without it. More threads or CPUs do not help.
-- ask: lock-contention
-- explains: threads-take-turns, context-switch-storm
-- yes: cpu usr=30 idle=70 *20
-- yes: lock comm=app pid=7 event="mutex block" lock=cache_lock caller=cache_get events=900 mean_us=900 *20
-- yes: lock comm=app pid=7 event="mutex hold" lock=cache_lock caller=cache_fill events=900 mean_us=1000 *20
-- no: cpu usr=30 idle=70 *20
-- no: lock comm=app pid=7 event="mutex block" lock=cache_lock caller=cache_get events=9 mean_us=900 *20
--
-- no: cpu usr=30 idle=70 *20
-- no: lock comm=app pid=7 event="mutex hold" lock=cache_lock caller=cache_fill events=900 mean_us=1000 *20
--
-- no: cpu usr=30 idle=70 *20
-- no: lock comm=mal pid=7 event="mutex block" lock="malloc's main_arena" caller=work events=900 mean_us=900 *20
-- Three tenths of a thread on average, or a second in all where the duration is unknown. Locks of malloc have a separate finding. Who held it
-- for longest is the place to look at, where that was measured.
WITH sites AS (
    SELECT run, host, coalesce(comm, '') AS comm, coalesce(lock, 'an unnamed lock') AS lock, coalesce(caller, 'unknown places') AS caller, event LIKE '%hold%' AS is_hold, sum(coalesce(total_s, events * mean_us / 1e6)) AS time_s, sum(events) AS events
    FROM lock
    WHERE (event LIKE '%block%' OR event LIKE '%spin%' OR event LIKE '%hold%') AND coalesce(lock, '') NOT ILIKE '%malloc%' AND coalesce(lock, '') NOT ILIKE '%main_arena%'
    GROUP BY run, host, coalesce(comm, ''), coalesce(lock, 'an unnamed lock'), coalesce(caller, 'unknown places'), event LIKE '%hold%'
), locks AS (
    SELECT run, host, comm, lock, sum(time_s) FILTER (NOT is_hold) AS waited, sum(events) FILTER (NOT is_hold) AS events, arg_max(caller, time_s) FILTER (NOT is_hold) AS caller, arg_max(caller, time_s) FILTER (is_hold) AS holder
    FROM sites GROUP BY run, host, comm, lock
)
SELECT l.run, l.host, CASE WHEN comm = '' THEN '' ELSE concat(' of ', comm) END AS of, lock, waited, CAST(round(events) AS BIGINT) AS events, caller, CASE WHEN holder IS NULL THEN '' ELSE concat('; it was held for longest by ', holder) END AS held
FROM locks l JOIN runs r ON r.run = l.run
WHERE waited >= CASE WHEN coalesce(r.duration_s, 0) >= 0.1 THEN 0.3 * r.duration_s ELSE 1 END
ORDER BY waited DESC, l.run, l.host, lock
