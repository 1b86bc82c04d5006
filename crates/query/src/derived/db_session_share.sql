-- Rows of db_session with `sessions`, what a row adds to the mean number of sessions over the run. Samplers give a row
-- for each session that is not idle, several a second; imports one for each session that they saw. Both are weighted by
-- the time that a row covers, and divided by all the time in which sessions were looked at. A session that an import did not see for a
-- while was not at work: its next row covers no more than the usual distance between looks.
-- `class` is the class of activity that every row has, also an import's, `event` the wait event or `(none)`, `session_name`
-- the session's number as text: the label of sessions in charts and lists.
-- `is_client` leaves out the server's own processes, `in_db_time` what no client waits for.
WITH sampled AS (
    SELECT run, host, server, sum(dt) AS seen_s FROM db WHERE samples > 0 AND db.database IS NULL GROUP BY run, host, server
), spans AS (
    SELECT run, host, server, median(coalesce(dt, 1)) AS step, coalesce((max(epoch_us(t)) - min(epoch_us(t))) / 1e6, 0) + median(coalesce(dt, 1)) AS seen_s
    FROM db_session
    GROUP BY run, host, server
), shares AS (
    SELECT d.* EXCLUDE (dt), CASE WHEN s.seen_s IS NULL THEN least(coalesce(d.dt, 1), p.step) ELSE coalesce(d.dt, 1) END AS dt, coalesce(s.seen_s, p.seen_s) AS seen_s,
        steady(CASE WHEN s.seen_s IS NULL THEN least(coalesce(d.dt, 1), p.step) / p.seen_s ELSE coalesce(d.dt, 1) / s.seen_s END) AS sessions,
        NOT regexp_matches(lower(coalesce(d.kind, '')), 'autovacuum|checkpointer|writer|^wal|launcher|archiver|startup|io worker|slotsync|logical|background|daemon|slave|replica|binlog|event scheduler') AS is_client,
        coalesce(activity, CASE WHEN state ILIKE 'idle in transaction%' THEN 'idle in transaction'
            WHEN lower(wait_event) IN ('walwrite', 'walwritelock', 'walsync', 'syncrep') THEN 'commit' WHEN lower(wait_class) = 'lwlock' THEN 'concurrency' ELSE lower(wait_class) END, 'cpu') AS class,
        coalesce(wait_event, '(none)') AS event, CAST(d.session AS VARCHAR) AS session_name
    FROM db_session d
    JOIN spans p ON p.run = d.run AND p.host = d.host AND p.server IS NOT DISTINCT FROM d.server
    LEFT JOIN sampled s ON s.run = d.run AND s.host = d.host AND s.server IS NOT DISTINCT FROM d.server
)
SELECT *, is_client AND coalesce(activity NOT IN ('idle', 'idle in transaction', 'pacing', 'protocol'), coalesce(state = 'active', true)) AS in_db_time
FROM shares
