-- title: How much did the databases do?
-- about: Transactions and rows of each database over time.
-- section: database
-- chart: line
-- x: t
-- y: commits_per_s, rollbacks_per_s
-- series: database
-- unit: /s
-- order: 5
SELECT run, host, t, dt, d.database, commits_per_s, rollbacks_per_s
FROM db d
ORDER BY run, host, d.database, t
