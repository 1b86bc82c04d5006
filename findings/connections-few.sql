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
--
-- yes: load generator=fenxi clients=2 transactions_per_s=185 offered_per_s=190 queue_length=1 latency_mean_ms=21 latency_p50_ms=20 *2
-- yes: load generator=fenxi clients=2 transactions_per_s=195 offered_per_s=190 queue_length=0 latency_mean_ms=21 latency_p50_ms=20 *4 @2
-- yes: result name=latency_mean value=21 unit=ms source=fenxi
-- yes: result name=latency_p50 value=20 unit=ms source=fenxi
-- yes: result name=service_mean value=9.4 unit=ms source=fenxi
-- yes: result name=service_p50 value=9.3 unit=ms source=fenxi
-- yes: result name=lag_mean value=0.1 unit=ms source=fenxi
-- no: load generator=fenxi clients=2 transactions_per_s=190 offered_per_s=190 queue_length=0 latency_mean_ms=21 latency_p50_ms=10 *6
-- no: result name=latency_mean value=21 unit=ms source=fenxi
-- no: result name=latency_p50 value=10 unit=ms source=fenxi
-- no: result name=service_mean value=9.4 unit=ms source=fenxi
-- no: result name=service_p50 value=9.3 unit=ms source=fenxi
-- no: result name=lag_mean value=0.1 unit=ms source=fenxi
--
-- no: load generator=fenxi clients=16 transactions_per_s=190 offered_per_s=190 queue_length=0 latency_mean_ms=21 latency_p50_ms=20 *6
-- no: result name=latency_mean value=21 unit=ms source=fenxi
-- no: result name=latency_p50 value=20 unit=ms source=fenxi
-- no: result name=service_mean value=9.4 unit=ms source=fenxi
-- no: result name=service_p50 value=9.3 unit=ms source=fenxi
-- no: result name=lag_mean value=11 unit=ms source=fenxi
-- A transaction that waits at four of five moments: then all connections are in use, and by Little's law one has its share of the
-- time. A queue that a stall or a burst left is none of their number. What makes the service long comes before it, see the split of time.
-- Where the median is far below the mean wait, most transactions find a connection, and stalls made the queue.
-- A driver that starts transactions late by the grain of its timers has a queue as well: a wait of a millisecond is none of the connections.
-- A short queue is empty at most moments. A driver that measures both the latency from the intended start and the service shows it by
-- its medians: half of the transactions wait for a connection for as long as this, and connections are in use for four fifths of the time.
WITH loads AS (
    SELECT run, host, coalesce(generator, 'The generator') AS generator, max(clients) AS most, wmean(clients, dt) AS clients, wmean(transactions_per_s, dt) AS done,
        wmean(offered_per_s, dt) AS offered, wmean(queue_length, dt) AS queued, steady(wmean(queue_length, dt)) AS waiting, wmean(latency_p50_ms, dt) AS median_ms,
        sum(CASE WHEN queue_length >= 1 THEN dt ELSE 0 END) / sum(dt) AS of_time
    FROM load
    WHERE operation IS NULL AND offered_per_s IS NOT NULL AND queue_length IS NOT NULL AND transactions_per_s > 0 AND clients > 0
    GROUP BY run, host, coalesce(generator, 'The generator')
    HAVING sum(dt) >= 3
)
SELECT l.run, l.host, l.generator, CAST(l.most AS BIGINT) AS clients, coalesce(m.service_ms, 1000 * l.clients / l.done) AS service, l.done, l.offered,
    coalesce(m.wait_ms * l.done / 1000, l.waiting) AS waiting
FROM loads l LEFT JOIN load_service m ON m.run = l.run AND m.host = l.host AND m.generator = l.generator
WHERE l.of_time >= 0.8 AND l.queued >= 0.001 * l.done AND coalesce(l.median_ms >= 500 * l.queued / l.done, true)
    OR m.median_wait_ms >= greatest(1, 0.5 * m.wait_ms) AND m.service_ms * l.done >= 800 * l.clients
ORDER BY waiting DESC, l.run, l.host, l.generator
