-- title: A replication slot keeps the log
-- severity: warning
-- section: database
-- message: Slot {name} of {server} keeps {kept:B} of log, is {state}.
-- advice: No consumer reads it, and the log fills the disk: start its consumer again, or drop the slot. max_slot_wal_keep_size limits it.
-- ask: db-replication
-- world: database
-- yes: db_replication server=localhost name=old role=slot active=no retained_bytes=5e9 wal_status=extended *3
--
-- yes: db_replication server=localhost name=old role=slot active=yes retained_bytes=5e7 wal_status=lost *3
-- no: db_replication server=localhost name=live role=slot active=yes retained_bytes=5e9 wal_status=extended *3
--
-- no: db_replication server=localhost name=new role=slot active=no retained_bytes=5e6 wal_status=reserved *3
-- 1 GiB of an inactive one, or what the server itself calls unreserved or lost.
SELECT run, host, server, name, coalesce(arg_max(retained_bytes, t), 0) AS kept, CASE WHEN arg_max(wal_status, t) IN ('unreserved', 'lost') THEN arg_max(wal_status, t) ELSE 'inactive' END AS state
FROM db_replication
WHERE role = 'slot'
GROUP BY run, host, server, name
HAVING (arg_max(active, t) = 'no' AND arg_max(retained_bytes, t) >= 1073741824) OR arg_max(wal_status, t) IN ('unreserved', 'lost')
ORDER BY kept DESC, run, host, server, name
