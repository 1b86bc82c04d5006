-- title: A consumer of the log does not keep up
-- severity: warning
-- section: database
-- message: {name} of {server} has {behind:B} of log still to be sent to it, {grown:B} more than {seen_s:s} before.
-- advice: It reads more slowly than the log grows: a consumer of logical changes that is busy or stopped, a slow network, a backup. The server keeps the log for its slot until the disk is full; max_slot_wal_keep_size limits that, and ends the slot.
-- ask: db-replication
-- world: database
-- yes: db_replication server=localhost name=cdc role=sends sent_lag_bytes=2e7 @10
-- yes: db_replication server=localhost name=cdc role=sends sent_lag_bytes=2e8 @20
-- no: db_replication server=localhost name=standby role=sends sent_lag_bytes=2e8 @10
-- no: db_replication server=localhost name=standby role=sends sent_lag_bytes=2e4 @20
--
-- no: db_replication server=localhost name=standby role=sends sent_lag_bytes=1e6 @10
-- no: db_replication server=localhost name=standby role=sends sent_lag_bytes=9e6 @20
--
-- no: db_replication server=localhost name=standby role=sends sent_lag_bytes=2e8 @10
--
-- no: db_replication server=localhost name=old role=slot retained_bytes=2e8 @10
-- no: db_replication server=localhost name=old role=slot retained_bytes=5e8 @20
-- Four segments of 16 MB that are not even sent, and more than at the beginning: what is sent is usually a few kB behind.
WITH lags AS (
    SELECT run, host, server, name, arg_max(sent_lag_bytes, t) AS behind, arg_max(sent_lag_bytes, t) - arg_min(sent_lag_bytes, t) AS grown,
        epoch(max(t)) - epoch(min(t)) AS seen_s
    FROM db_replication
    WHERE role = 'sends' AND sent_lag_bytes IS NOT NULL
    GROUP BY run, host, server, name
)
SELECT run, host, server, name, behind, grown, seen_s
FROM lags
WHERE behind >= 67108864 AND grown > 0.5 * behind AND seen_s >= 5
ORDER BY behind DESC, run, host, server, name
