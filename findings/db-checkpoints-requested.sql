-- title: Most checkpoints come because the log is full
-- severity: warning
-- section: database
-- message: {requested} of {total} checkpoints of {server} were requested, {apart_s:s} apart on average.
-- advice: Raise max_wal_size until checkpoints come by checkpoint_timeout: each one makes all pages be logged in full again. Harmless after a bulk load or when somebody runs CHECKPOINT before a test.
-- ask: db-checkpoints
-- world: database
-- yes: db_checkpoint server=localhost requested=0 timed=0 *59
-- yes: db_checkpoint server=localhost requested=5 timed=1 dt=30 @60
-- no: db_checkpoint server=localhost requested=1 timed=6 dt=60 *1
--
-- no: db_checkpoint server=localhost requested=2 timed=0 dt=60 *1
--
-- no: db_checkpoint server=localhost requested=0 timed=0 *60
-- Half of at least four (postgres_mixin has the half).
SELECT run, host, server, CAST(sum(requested) AS BIGINT) AS requested, CAST(sum(requested) + sum(timed) AS BIGINT) AS total, sum(dt) / sum(requested) AS apart_s
FROM db_checkpoint
GROUP BY run, host, server
HAVING sum(requested) + sum(timed) >= 4 AND sum(requested) >= 0.5 * (sum(requested) + sum(timed)) AND sum(dt) >= 30
ORDER BY requested DESC, run, host, server
