-- title: How much log did the database write?
-- about: Bytes of write-ahead or redo log per second. Full-page images after a checkpoint multiply it; fewer checkpoints or compression help.
-- section: database
-- chart: line
-- x: t
-- y: wal_bytes_per_s
-- series: server
-- unit: B/s
-- order: 54
SELECT run, host, t, dt, server, wal_bytes_per_s, records_per_s, full_pages_per_s, syncs_per_s, buffers_full_per_s
FROM db_wal
ORDER BY run, host, server, t
