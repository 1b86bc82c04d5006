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
-- Whatever makes transactions longer makes them hold their locks longer: what else is found in the same time comes before.
SELECT m.run, m.host, c.summary, m.severity, least(4, greatest(locks_cost, locks)) AS weight
FROM moves m JOIN change c ON c.run = m.run AND c.is_first = 1 AND c.means = 'locks'
WHERE locks >= 0.5 AND coalesce(locks_cost, locks) >= 0.7 OR locks_cost >= 1 AND locks > -0.2
ORDER BY weight DESC
