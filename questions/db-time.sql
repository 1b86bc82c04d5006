-- title: Where did DB time go?
-- about: DB time per second (mean active client sessions) by class, the largest first, with its share. Outside of it: idle in transaction, protocol (between two statements) and the server's background work. A session that became runnable still shows what it waited for, so that sampled waits hold some of the run queue. Continue with the largest class: its events, then its statements.
-- section: database
-- chart: bar
-- y: sessions
-- unit: s/s
-- order: 2
WITH classes AS (
    SELECT run, host, server, CASE WHEN kind = 'background' THEN concat('background: ', activity) ELSE activity END AS activity,
        in_db_time, sum(sessions) AS sessions, string_agg(DISTINCT coalesce(measured, 'import'), ', ') AS measured
    FROM db_best_wait
    WHERE activity <> 'idle'
    GROUP BY ALL
), shares AS (
    SELECT *, CASE WHEN in_db_time THEN 100 * sessions / nullif(sum(sessions) FILTER (in_db_time) OVER (PARTITION BY run, host, server), 0) END AS share_pct
    FROM classes
)
SELECT run, host, server, activity, sessions, share_pct, measured
FROM shares
WHERE sessions > 0
ORDER BY run, host, server, share_pct IS NULL, sessions DESC, activity
