-- title: How far were replicas behind?
-- about: Seconds between a commit and its being visible on each replica, with the log not yet sent, flushed and applied, and what slots keep back. The first stage with a lag is the one that is slow: network, disk or replay.
-- section: database
-- chart: line
-- x: t
-- y: replay_lag_s, flush_lag_s
-- series: replica
-- unit: s
-- order: 61
SELECT run, host, t, dt, concat_ws(' ', server, name, role) AS replica, replay_lag_s, flush_lag_s, sent_lag_bytes, flush_lag_bytes, replay_lag_bytes, retained_bytes,
    state, sync, active, wal_status
FROM db_replication
ORDER BY run, host, replica, t
