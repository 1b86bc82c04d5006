-- title: Who wrote dirty buffers?
-- about: Buffers written by checkpoints, by the background writer or page cleaner, and by sessions themselves. A session that has to write before it can read waits for it; up to PostgreSQL 16 extensions of files count as its own.
-- section: database
-- chart: stacked
-- x: t
-- y: checkpoint_buffers_per_s, cleaner_buffers_per_s, backend_buffers_per_s
-- series: server
-- unit: /s
-- order: 53
SELECT run, host, t, dt, server, checkpoint_buffers_per_s, cleaner_buffers_per_s, backend_buffers_per_s, backend_fsyncs, cleaner_stops, free_waits
FROM db_checkpoint
ORDER BY run, host, server, t
