-- title: When were checkpoints, and what did they write?
-- about: Buffers written by checkpoints, with the time spent writing and flushing. Many requested ones mean that the log limit (max_wal_size, innodb_log_file_size) is small for the load.
-- section: database
-- chart: line
-- x: t
-- y: checkpoint_buffers_per_s, cleaner_buffers_per_s
-- series: server
-- unit: /s
-- order: 52
SELECT run, host, t, dt, server, checkpoint_buffers_per_s, cleaner_buffers_per_s, timed, requested, c.write_time, c.sync_time, redo_bytes, dirty_bytes
FROM db_checkpoint c
ORDER BY run, host, server, t
