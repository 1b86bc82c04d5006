-- title: Receive processing cannot keep up
-- severity: warning
-- section: network
-- message: CPU {cpu} dropped {dropped:packet|packets} from its backlog and had {squeezed} time squeezes.
-- advice: Drops: raise net.core.netdev_max_backlog, or spread receive processing over CPUs (queues, RPS). Time squeezes: raise net.core.netdev_budget and netdev_budget_usecs. Some time squeezes under full load are normal.
-- ask: net-errors
-- yes: softnet cpu=2 packets_per_s=90000 drops_per_s=20 squeezes_per_s=3 *30
--
-- yes: softnet cpu=2 packets_per_s=90000 drops_per_s=0 squeezes_per_s=300 *30
-- no: softnet cpu=2 packets_per_s=9000 drops_per_s=0 squeezes_per_s=1 *30
-- A drop is a lost packet, ten are more than an accident. An early stop loses nothing: a hundred a second are only
-- good to know.
WITH per_cpu AS (
    SELECT run, host, cpu, coalesce(sum(drops_per_s * dt), 0) AS lost, coalesce(sum(squeezes_per_s * dt), 0) AS early,
        coalesce(wmean(squeezes_per_s, dt), 0) AS early_rate
    FROM softnet
    GROUP BY run, host, cpu
)
SELECT run, host, cpu, CAST(round(lost) AS BIGINT) AS dropped, CAST(round(early) AS BIGINT) AS squeezed,
    CASE WHEN lost >= 10 THEN 'warning' ELSE 'info' END AS severity
FROM per_cpu
WHERE lost >= 10 OR early_rate >= 100
ORDER BY lost DESC, early DESC, run, host, cpu
