-- title: A replica is late
-- severity: warning
-- section: database
-- message: {name} of {server} was up to {lag:s} behind, for {late_s:s} more than five seconds.
-- advice: See which stage lags (fenxi ask db-replication): sent is the network, flushed the replica's disk, applied a single process there or a conflict with a query.
-- ask: db-replication
-- world: database
-- yes: db_replication server=localhost name=standby role=sends replay_lag_s=20 *30
-- no: db_replication server=localhost name=standby role=sends replay_lag_s=0.4 *30
--
-- no: db_replication server=localhost name=standby role=sends replay_lag_s=0.4 *29
-- no: db_replication server=localhost name=standby role=sends replay_lag_s=20 @29
-- Five seconds (awesome-prometheus-alerts) for ten seconds.
SELECT run, host, server, name, max(replay_lag_s) AS lag, sum(coalesce(dt, 1)) FILTER (replay_lag_s > 5) AS late_s
FROM db_replication
GROUP BY run, host, server, name, role
HAVING sum(coalesce(dt, 1)) FILTER (replay_lag_s > 5) >= 10
ORDER BY lag DESC, run, host, server, name
