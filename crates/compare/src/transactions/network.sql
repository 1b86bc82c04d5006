-- The shortest round trip to the server that was loaded, and the round trips of a transaction: one for each request, or one where
-- requests are not counted, or all of them are sent at once.
trips AS (
    SELECT l.run, sum(if(r.params['protocol'] = 'pipelined', l.transactions_per_s, coalesce(l.requests_per_s, l.transactions_per_s)) * coalesce(l.dt, 1))
        / sum(l.transactions_per_s * coalesce(l.dt, 1)) AS trips
    FROM load l JOIN runs r USING (run) WHERE l.operation IS NULL AND l.transactions_per_s > 0
    GROUP BY l.run
),
shortest AS (
    SELECT d.run, d.server, min(d.round_trip_ms) AS round_trip_ms
    FROM db d JOIN span s USING (run)
    WHERE d.round_trip_ms IS NOT NULL AND epoch_us(d.t) - coalesce(d.dt, 0) * 5e5 BETWEEN s.begin_us AND s.end_us
    GROUP BY d.run, d.server
)
SELECT run, any_value(trips) AS trips, min(round_trip_ms) AS round_trip_ms
FROM trips JOIN shortest USING (run)
GROUP BY run HAVING count(*) = 1
