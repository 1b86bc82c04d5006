-- title: What throughput did the load generator reach?
-- about: Transactions completed and errors per second; with an open-loop load, compare with the offered rate.
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
