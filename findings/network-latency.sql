-- title: Transactions spend their time between driver and server
-- severity: warning
-- section: network
-- message: A round trip to {server} takes {each:ms} at least, and a transaction of {latency:ms} makes {trips} of them.
-- advice: The network to the server has a high latency, or something between them is slow (a proxy, a pooler, a tunnel): measure a round trip with ping or `SELECT 1`. Fewer round trips help most: several rows a statement, procedures, pipelining, fewer statements for the same work.
-- ask: db-round-trip
-- part: round trips >= 50 %
-- explains: db-client-slow, db-idle-in-transaction
-- world: database
-- yes: load generator=g clients=8 transactions_per_s=100 requests_per_s=300 latency_mean_ms=75 *20
-- yes: db server=far round_trip_ms=20 *20
-- no: load generator=g clients=8 transactions_per_s=100 requests_per_s=300 latency_mean_ms=75 *20
-- no: db server=near round_trip_ms=2 *20
--
-- no: load generator=g clients=8 transactions_per_s=100 requests_per_s=300 latency_mean_ms=75 *20
-- no: db server=near samples=10 *20
--
-- no: load generator=g clients=8 transactions_per_s=4000 requests_per_s=20000 latency_mean_ms=2 *20
-- no: db server=near round_trip_ms=0.3 *20
--
-- no: load generator=g clients=8 transactions_per_s=100 requests_per_s=300 latency_mean_ms=75 *20
-- no: db server=far round_trip_ms=200 *1
-- no: db server=far round_trip_ms=1 *19 @1
-- What a transaction spends on round trips, and its share of the latency, is known from the split of its time: at most what was measured of
-- a round trip, and at most what neither the server, nor the driver, nor a queue has. This is which server it is. The
-- shortest round trip counts, as others also wait for a server that is busy. Half of the latency, and half a millisecond for each: on one host it is a tenth of that.
WITH loads AS (
    SELECT l.run, l.host, sum(latency_mean_ms * transactions_per_s * dt) / sum(transactions_per_s * dt) AS latency,
        sum(if(r.params['protocol'] = 'pipelined', transactions_per_s, coalesce(requests_per_s, transactions_per_s)) * dt) / sum(transactions_per_s * dt) AS trips, sum(dt) AS seen_s
    FROM load l JOIN runs r ON r.run = l.run
    WHERE operation IS NULL AND transactions_per_s > 0 AND latency_mean_ms IS NOT NULL
    GROUP BY l.run, l.host
), servers AS (
    SELECT run, host, server, min(round_trip_ms) AS each FROM db WHERE round_trip_ms IS NOT NULL GROUP BY run, host, server
)
SELECT l.run, l.host, s.server, latency, trips, each
FROM loads l JOIN servers s ON s.run = l.run
WHERE each >= 0.5 AND trips * each >= 0.5 * latency AND seen_s >= 3
ORDER BY trips * each / latency DESC, l.run, l.host, s.server
