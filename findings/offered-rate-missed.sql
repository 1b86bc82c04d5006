-- title: The offered rate was not achieved
-- severity: warning
-- section: result
-- says: {generator} offered {offered:/s} transactions and completed {done:/s}.
-- advice: The run shows the limit, not the behaviour at the offered rate: latencies are valid only for the rate achieved. Check the other findings, or lower the rate.
-- ask: load-throughput
-- yes: load generator=wrk2 offered_per_s=1000 transactions_per_s=700 *30
-- no: load generator=wrk2 offered_per_s=1000 transactions_per_s=995 *30
--
-- no: load generator=wrk2 transactions_per_s=700 *30
-- Random arrivals alone make some percent of difference over a short run; a twentieth is more than that.
SELECT run, host, coalesce(generator, 'The generator') AS generator, wmean(offered_per_s, dt) AS offered, wmean(transactions_per_s, dt) AS done
FROM load
WHERE operation IS NULL AND offered_per_s IS NOT NULL AND transactions_per_s IS NOT NULL
GROUP BY run, host, generator
HAVING wmean(transactions_per_s, dt) < 0.95 * wmean(offered_per_s, dt) AND sum(dt) >= 3
ORDER BY done / nullif(offered, 0), run, host
