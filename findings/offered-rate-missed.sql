-- title: The offered rate was not achieved
-- severity: warning
-- section: result
-- message: {generator} offered {offered:/s} and completed {done:/s}.
-- advice: The run shows the limit, not the behaviour at the offered rate: latencies are valid only for the rate achieved. Check the other findings, or lower the rate.
-- ask: load-throughput
-- comparison: warn
-- kind: symptom
-- causes: load-driver-saturated (the generator itself), cpu-neighbour (another program), db-lock-waits (locks), disk-saturated (a disk that is full)
-- world: load
-- yes: load generator=wrk2 offered_per_s=1000 transactions_per_s=700 *30
-- no: load generator=wrk2 offered_per_s=1000 transactions_per_s=995 *30
--
-- no: load generator=wrk2 transactions_per_s=700 *30
--
-- no: load generator=fenxi offered_per_s=10 transactions_per_s=9 *30
--
-- yes: result name=offered value=1000 unit=/s
-- yes: result name=throughput value=700 unit=/s
-- no: result name=offered value=1000 unit=/s
-- no: result name=throughput value=42000 unit=/min
--
-- yes: result name=offered_per_s value=1000 unit=/s
-- yes: result name=throughput value=700 unit=/s
-- yes: result name=transactions value=7000
-- yes: result name=elapsed value=10 unit=s
--
-- no: result name=offered_per_s value=120 unit=/s
-- no: result name=throughput value=66 unit=/s
-- no: result name=transactions value=1200
-- no: result name=elapsed value=10 unit=s
--
-- no: result name=offered_per_s value=4 unit=/s
-- no: result name=throughput value=3.4 unit=/s
-- no: result name=transactions value=198
-- no: result name=elapsed value=57 unit=s
--
-- no: load generator=fenxi offered_per_s=20 transactions_per_s=18.4 *10
--
-- yes: load generator=fenxi offered_per_s=20 transactions_per_s=18.4 *120
-- Random arrivals alone make some percent of difference over a short run; a twentieth is more than that, and three standard deviations
-- of as many arrivals (the root of their number) at least. Results
-- give it where a tool printed totals only, in one unit: by how many it sent, of which throughput may count the good ones only.
WITH loads AS (
    SELECT run, host, coalesce(generator, 'The generator') AS generator, wmean(offered_per_s, dt) AS offered, wmean(transactions_per_s, dt) AS done, sum(dt) AS seen_s
    FROM load
    WHERE operation IS NULL AND offered_per_s IS NOT NULL AND transactions_per_s IS NOT NULL
    GROUP BY run, host, generator
    HAVING sum(dt) >= 3
), totals AS (
    SELECT o.run, o.host, coalesce(o.source, 'The generator') AS generator, o.value AS offered, coalesce(n.value / nullif(e.value, 0), t.value) AS done,
        CASE WHEN n.value IS NOT NULL THEN e.value END AS seen_s
    FROM result o JOIN result t ON t.run = o.run AND t.host = o.host AND t.source IS NOT DISTINCT FROM o.source AND t.unit = o.unit
    LEFT JOIN result e ON e.run = o.run AND e.host = o.host AND e.source IS NOT DISTINCT FROM o.source AND e.name = 'elapsed' AND e.unit = 's' AND o.unit = '/s'
    LEFT JOIN result n ON n.run = e.run AND n.host = e.host AND n.source IS NOT DISTINCT FROM e.source AND n.name = 'transactions'
    WHERE o.name IN ('offered', 'offered_rate', 'offered_per_s', 'target_rate', 'rate_limit') AND t.name = 'throughput'
        AND o.unit LIKE '%/s' AND o.run NOT IN (SELECT run FROM loads)
)
SELECT run, host, generator, offered, done
FROM (SELECT * FROM loads UNION ALL SELECT * FROM totals)
WHERE done < 0.95 * offered AND (seen_s IS NULL OR (offered - done) * seen_s > 3 * sqrt(offered * seen_s))
ORDER BY done / nullif(offered, 0), run, host
