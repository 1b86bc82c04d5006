-- What the recorded command was at, by looks at all of its threads. At each look the threads count that make progress: those on a CPU or in
-- its queue, and those that wait for what is none of the command's own (a disk, memory) or for their turn (a lock), however short each
-- wait is: of four threads of which a lock lets one run, three wait. Where there is none of these, what others wait for counts: something in
-- particular before an event of several, and who idles (in `accept`), or waits for a child that is at nothing, last. `elapsed_s` is what a
-- wait takes of the time that passed, `thread_s` of all threads' time. Where less than half of the waits for locks are surely for a mutex, threads
-- may wait for work.
WITH waits AS (
    SELECT run, t, wait, max(coalesce(dt, 1)) AS dt, sum(threads) AS threads, sum(coalesce(progress, threads)) AS progress,
        CASE WHEN wait = 'run' THEN 0
            WHEN wait IN ('disk', 'flush', 'dirty pages', 'memory', 'lock', 'file lock', 'kernel lock', 'file server', 'stopped') AND sum(coalesce(progress, threads)) > 0 THEN 0
            ELSE CASE wait WHEN 'sleep' THEN 2 WHEN 'other' THEN 3 WHEN 'pipe' THEN 4 WHEN 'poll' THEN 5 WHEN 'lock' THEN 6 WHEN 'accept' THEN 7 WHEN 'child' THEN 8 ELSE 1 END END AS rank
    FROM thread_wait
    WHERE role = 'command'
    GROUP BY run, t, wait
), ranked AS (
    SELECT run, t, wait, threads, progress, rank, min(rank) OVER (PARTITION BY run, t) AS first_rank, max(dt) OVER (PARTITION BY run, t) AS look_s FROM waits
), looks AS (
    SELECT run, t, wait, look_s, threads,
        coalesce(progress / nullif(sum(progress) OVER (PARTITION BY run, t), 0), threads / sum(threads) OVER (PARTITION BY run, t)) AS share
    FROM ranked WHERE rank = first_rank
), parts AS (
    SELECT run, wait, sum(look_s * share) AS elapsed_s, sum(look_s * threads) AS thread_s FROM looks GROUP BY run, wait
), seen AS (
    SELECT run, sum(look_s) AS seen_s, count(*) AS n_looks FROM (SELECT DISTINCT run, t, look_s FROM looks) GROUP BY run
), pids AS (
    SELECT DISTINCT run, host, pid FROM thread_wait WHERE role = 'command'
), mutexes AS (
    SELECT run, sum(mutex * coalesce(dt, 1)) / sum(threads * coalesce(dt, 1)) AS share FROM thread_wait WHERE role = 'command' AND mutex IS NOT NULL GROUP BY run
), used AS (
    SELECT run, sum(usr * dt) / 100 AS user_s, sum(sys * dt) / 100 AS system_s, sum(run_queue_wait * dt) / 100 AS queue_s, sum(io_wait * dt) / 100 AS block_s
    FROM process p
    WHERE role = 'command' OR EXISTS (SELECT 1 FROM pids w WHERE w.run = p.run AND w.host = p.host AND w.pid = p.pid)
    GROUP BY run
)
SELECT p.run, CASE WHEN wait = 'lock' AND m.share < 0.5 THEN 'lock or work' ELSE wait END AS wait, elapsed_s, thread_s, seen_s, n_looks, user_s, system_s, queue_s, block_s
FROM parts p JOIN seen s ON s.run = p.run LEFT JOIN used u ON u.run = p.run LEFT JOIN mutexes m ON m.run = p.run
ORDER BY p.run, wait
