-- title: How much did the load generator get done?
-- about: Transactions completed and errors per second; compare with what was offered where the load was open.
-- section: result
-- chart: line
-- x: t
-- y: transactions_per_s, offered_per_s, errors_per_s
-- series: generator
-- unit: /s
-- order: 30
SELECT run, host, t, dt, concat_ws(' ', generator, operation) AS generator, transactions_per_s, offered_per_s, errors_per_s
FROM load
ORDER BY run, host, generator, t
