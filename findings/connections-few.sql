-- title: Transactions wait for a connection
-- severity: warning
-- section: result
-- message: {clients} connections of {service:ms} serve {done:/s}, {offered:/s} are offered: {waiting} transactions waited for a connection on average.
-- advice: With idle CPUs on the server, and nothing in the service that waits, more connections serve more. Otherwise they only move the queue into the server: shorten what the service spends its time on, see `fenxi explain`. A rate above what the server can do is no fault of it.
-- ask: load-throughput
-- part: waiting for a connection >= 50 %
-- explains: offered-rate-missed, load-late
-- world: load
-- yes: load generator=fenxi clients=8 offered_per_s=150 transactions_per_s=150 latency_mean_ms=699 queue_length=97 *20
-- no: load generator=fenxi clients=8 offered_per_s=150 transactions_per_s=150 latency_mean_ms=30 queue_length=0 *20
--
-- no: load generator=fenxi clients=8 transactions_per_s=150 latency_mean_ms=53 *20
--
-- no: load generator=fenxi clients=8 offered_per_s=150 transactions_per_s=150 latency_mean_ms=699 queue_length=400 *4
-- no: load generator=fenxi clients=8 offered_per_s=150 transactions_per_s=150 latency_mean_ms=30 queue_length=0 *16 @4
--
-- no: load generator=fenxi clients=4 offered_per_s=20000 transactions_per_s=20000 latency_mean_ms=0.8 queue_length=11 *20
--
-- no: load generator=fenxi clients=4 transactions_per_s=53000 offered_per_s=53000 queue_length=96 latency_mean_ms=1.3 latency_p50_ms=0.07 *30
-- yes: load generator=fenxi clients=4 transactions_per_s=53000 offered_per_s=53000 queue_length=96 latency_mean_ms=1.9 latency_p50_ms=1.8 *30
-- A transaction that waits at four of five moments: then all connections are in use, and by Little's law one has its share of the
-- time. A queue that a stall or a burst left is none of their number. What makes the service long comes before it, see the split of time.
-- Where the median is far below the mean wait, most transactions find a connection, and stalls made the queue.
-- A driver that starts transactions late by the grain of its timers has a queue as well: a wait of a millisecond is none of the connections.
SELECT run, host, coalesce(generator, 'The generator') AS generator, CAST(max(clients) AS BIGINT) AS clients, 1000 * wmean(clients, dt) / wmean(transactions_per_s, dt) AS service,
    wmean(transactions_per_s, dt) AS done, wmean(offered_per_s, dt) AS offered, steady(wmean(queue_length, dt)) AS waiting
FROM load
WHERE operation IS NULL AND offered_per_s IS NOT NULL AND queue_length IS NOT NULL AND transactions_per_s > 0 AND clients > 0
GROUP BY run, host, coalesce(generator, 'The generator')
HAVING sum(dt) >= 3 AND sum(CASE WHEN queue_length >= 1 THEN dt ELSE 0 END) >= 0.8 * sum(dt)
    AND wmean(queue_length, dt) >= 0.001 * wmean(transactions_per_s, dt)
    AND coalesce(wmean(latency_p50_ms, dt) >= 500 * wmean(queue_length, dt) / wmean(transactions_per_s, dt), true)
ORDER BY waiting DESC, run, host, generator
