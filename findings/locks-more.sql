-- title: Sessions wait more for locks
-- severity: warning
-- section: database
-- periods: inside, rest
-- message: {summary}, more for each transaction than in the rest.
-- advice: Find what is locked and who holds it: hot rows, a long transaction, a lock of a whole table. Shorter transactions and another order of statements help.
-- ask: db-lock-targets
-- yes: db commits_per_s=100 row_lock_time=0.5 *60
-- yes: inside db commits_per_s=40 row_lock_time=20 *30 @60
-- no: db commits_per_s=100 row_lock_time=0.5 *60
-- no: inside db commits_per_s=40 row_lock_time=0.2 *30 @60
--
-- no: db commits_per_s=100 row_lock_time=0.5 *60
-- no: inside db commits_per_s=300 row_lock_time=1.5 *30 @60
--
-- yes: db commits_per_s=6000 row_lock_time=1.2 deadlocks=0 *30
-- yes: inside db commits_per_s=6000 row_lock_time=1 deadlocks=1100 *30 @30
-- no: db commits_per_s=800 row_lock_time=0.04 row_lock_waits_per_s=3.2 *60
-- no: inside db commits_per_s=120 row_lock_time=0.06 row_lock_waits_per_s=2.6 *30 @60
-- That less is done while others wait as before is no rise: there must be more of it, and three tenths of a session or a wait a second.
-- Whatever makes transactions longer makes them hold their locks longer: what else is found in the same time comes before.
SELECT m.run, m.host, c.summary, m.severity, CASE WHEN is_lock_bound THEN 4 ELSE least(4, greatest(locks_cost, locks)) END AS weight
FROM moves m JOIN change c ON c.run = m.run AND c.is_first = 1 AND c.means = 'locks'
WHERE (is_lock_bound AND work <= -0.5 OR locks >= 0.5 AND coalesce(locks_cost, locks) >= 0.7 OR locks_cost >= 1 AND locks >= 0.3)
    AND EXISTS (
        SELECT 1 FROM change x
        WHERE x.run = m.run AND x.means = 'locks' AND x.change > 0
            AND x.inside >= CASE WHEN x.table_name = 'metric' AND x.key ILIKE '%lock%time%' THEN 300 WHEN x.column_name LIKE '%time' OR x.column_name = 'waiting_sessions' THEN 0.3 ELSE 1 END
            AND (x.column_name = 'deadlocks' OR x.column_name LIKE '%time' OR x.key ILIKE '%lock%time%' OR x.column_name = 'waiting_sessions' OR NOT EXISTS (
                SELECT 1 FROM change y WHERE y.run = x.run AND y.means = 'locks' AND y.column_name LIKE '%time'))
    )
ORDER BY weight DESC
