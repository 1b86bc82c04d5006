-- What the recorded command was at, by looks at all of its threads: on a CPU or in its queue where one of them was, else the wait of most of
-- them; a process that sleeps, or waits for its child or any of many events, says less than another that waits for something in particular.
WITH looks AS (
    SELECT run, t, coalesce(dt, 1) AS dt,
        CASE WHEN coalesce(sum(threads) FILTER (wait = 'run'), 0) > 0 THEN 'run'
            ELSE coalesce(arg_max(wait, threads) FILTER (wait NOT IN ('sleep', 'other', 'poll', 'child')), arg_max(wait, threads) FILTER (wait = 'sleep'),
                arg_max(wait, threads) FILTER (wait = 'other'), arg_max(wait, threads) FILTER (wait = 'poll'), 'child') END AS state
    FROM thread_wait
    WHERE role = 'command'
    GROUP BY run, t, coalesce(dt, 1)
), queue AS (
    SELECT run, sum(run_queue_wait * dt) / 100 AS queued_s
    FROM process p
    WHERE EXISTS (SELECT 1 FROM thread_wait w WHERE w.role = 'command' AND w.run = p.run AND w.host = p.host AND w.pid = p.pid)
    GROUP BY run
)
SELECT l.run, state, count(*) AS looks, sum(l.dt) AS seconds, sum(sum(l.dt)) OVER (PARTITION BY l.run) AS seen_s,
    sum(count(*)) OVER (PARTITION BY l.run) AS all_looks, any_value(q.queued_s) AS queued_s
FROM looks l LEFT JOIN queue q ON q.run = l.run
GROUP BY l.run, state
