-- title: The log limit forces checkpoints close together
-- severity: warning
-- section: database
-- message: {server} made {requested} checkpoints {apart_s:s} apart on average, each after {written:B} of log; its limit is {limit_of:B}.
-- advice: Each one flushes all dirty pages, and the first change of every page behind it is logged in full again. Raise max_wal_size: at this rate, checkpoints of checkpoint_timeout take {wanted:B}. Harmless while data is loaded. Mistaken for a slow disk: its writes are the checkpoints' own.
-- ask: db-checkpoints
-- explains: db-checkpoints-requested, db-full-pages
-- world: database
-- yes: db server=localhost log_bytes_per_s=2e6 samples=10 *60
-- yes: db_checkpoint server=localhost requested=0 timed=0 *58
-- yes: db_checkpoint server=localhost requested=3 timed=0 @58
-- yes: db_checkpoint server=localhost requested=3 timed=0 @59
-- yes: db_setting server=localhost name=max_wal_size value=32 unit=MB
-- yes: db_setting server=localhost name=checkpoint_timeout value=300 unit=s
--
-- yes: db server=localhost log_bytes_per_s=2e7 samples=10 *12
-- yes: db_checkpoint server=localhost requested=1 timed=0 *12
-- yes: db_setting server=localhost name=max_wal_size value=32 unit=MB
-- no: db server=localhost log_bytes_per_s=2e6 samples=10 *60
-- no: db_checkpoint server=localhost requested=0 timed=0 *59
-- no: db_checkpoint server=localhost requested=6 timed=0 @59
-- no: db_setting server=localhost name=max_wal_size value=1024 unit=MB
-- no: db_setting server=localhost name=checkpoint_timeout value=300 unit=s
--
-- no: db server=localhost log_bytes_per_s=2e6 samples=10 *60
-- no: db_checkpoint server=localhost requested=0 timed=0 *59
-- no: db_checkpoint server=localhost requested=1 timed=0 @59
-- no: db_setting server=localhost name=max_wal_size value=32 unit=MB
--
-- no: db server=localhost log_bytes_per_s=2e6 samples=10 dt=60 *6
-- no: db_checkpoint server=localhost requested=2 timed=0 dt=60 *6
-- no: db_setting server=localhost name=max_wal_size value=64 unit=MB
--
-- no: db server=localhost log_bytes_per_s=2e7 samples=10 *12
-- no: db_checkpoint server=localhost requested=0 timed=0 *11
-- no: db_checkpoint server=localhost requested=4 timed=0 @11
-- no: db_setting server=localhost name=max_wal_size value=32 unit=MB
-- Three in half a minute or more, or six in any time, less than 30 s apart (the default of checkpoint_warning). The log between two of them has to be near the share of max_wal_size
-- at which the server begins one (a half, with checkpoint_completion_target at 0.9): somebody's CHECKPOINT counts as requested as well.
WITH settings AS (
    SELECT run, host, server, max(TRY_CAST(value AS DOUBLE)) FILTER (name = 'max_wal_size' AND s.unit = 'MB') * 1048576 AS limit_of,
        max(TRY_CAST(value AS DOUBLE)) FILTER (name = 'checkpoint_timeout') AS timeout_s
    FROM db_setting s GROUP BY run, host, server
), made AS (
    SELECT run, host, server, CAST(sum(requested) AS BIGINT) AS requested, sum(dt) AS seen_s FROM db_checkpoint GROUP BY run, host, server
)
SELECT m.run, m.host, m.server, m.requested, m.seen_s / m.requested AS apart_s, steady(s.log_bytes_per_s * m.seen_s / m.requested) AS written, t.limit_of,
    steady(1.9 * s.log_bytes_per_s * coalesce(t.timeout_s, 300)) AS wanted
FROM made m
JOIN settings t ON t.run = m.run AND t.host = m.host AND t.server IS NOT DISTINCT FROM m.server
JOIN db_server s ON s.run = m.run AND s.host = m.host AND s.server IS NOT DISTINCT FROM m.server
WHERE m.requested >= 3 AND m.seen_s / m.requested < 30 AND (m.seen_s >= 30 OR m.requested >= 6) AND s.log_bytes_per_s * m.seen_s / m.requested >= 0.4 * t.limit_of
ORDER BY apart_s, m.run, m.host, m.server
