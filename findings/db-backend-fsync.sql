-- title: Sessions had to flush files themselves
-- severity: warning
-- section: database
-- message: Sessions of {server} flushed files {n:time|times}, which the checkpointer should do.
-- advice: The queue of flush requests was full: the checkpointer cannot follow. Enlarge shared_buffers, which the queue's length follows, and look at the disk's flush latency.
-- ask: db-writers
-- part: commit; system I/O
-- world: database
-- yes: db_checkpoint server=localhost backend_fsyncs=3 *4
-- no: db_checkpoint server=localhost backend_fsyncs=0 *40
--
-- no: db_checkpoint server=localhost backend_buffers_per_s=300 *40
-- A single one: by the documentation of PostgreSQL the checkpointer does it normally.
SELECT run, host, server, CAST(sum(backend_fsyncs) AS BIGINT) AS n
FROM db_checkpoint
GROUP BY run, host, server
HAVING sum(backend_fsyncs) >= 1
ORDER BY n DESC, run, host, server
