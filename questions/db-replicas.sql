-- title: How were replicas, slots and subscriptions?
-- about: Each replica, slot or channel: its last state, how far it was behind on average and at most, and the log that is kept for it. A slot that is not active keeps log until the disk is full.
-- section: database
-- chart: table
-- order: 60
SELECT run, host, server, name, role, arg_max(state, t) AS state, arg_max(sync, t) AS sync, arg_max(active, t) AS active, arg_max(wal_status, t) AS wal_status,
    wmean(replay_lag_s, coalesce(dt, 1)) AS replay_lag_s, max(replay_lag_s) AS most_replay_lag_s, max(flush_lag_s) AS most_flush_lag_s,
    max(sent_lag_bytes) AS most_sent_lag_bytes, max(replay_lag_bytes) AS most_replay_lag_bytes,
    max(xmin_age) AS xmin_age, arg_max(retained_bytes, t) AS retained_bytes, arg_max(retained_bytes, t) - arg_min(retained_bytes, t) AS retained_more_bytes
FROM db_replication
GROUP BY run, host, server, name, role
ORDER BY run, host, server, role, name
