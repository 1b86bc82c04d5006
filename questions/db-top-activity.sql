-- title: Who or what was active in the database, and in which class?
-- about: The largest by mean active sessions, each split by class of activity, from samples of sessions; classes of all sessions are what was measured best, as in db-activity. The parameter chooses statements, sessions, users, applications, clients, databases, events or classes, and the others keep what belongs to one of them.
-- section: database
-- chart: table
-- y: active_sessions, on_cpu, run_queue, user_io, system_io, commit_wait, concurrency, lock_wait, ipc, client, timeout, extension, idle_in_transaction, other
-- unit: s/s
-- order: 13
-- param: by = statement, what to tell apart: statement, session, user, application, client, database, server, class or event
-- param: n = 10, how many to show
-- param: server = '', only of this server
-- param: class = '', only in this class of activity
-- param: event = '', only in this wait event
-- param: statement = '', only in the statement with this digest
-- param: session = '', only of this session
-- param: user = '', only of this user
-- param: application = '', only of this application
-- param: client = '', only from this client
-- param: database = '', only in this database
WITH everyone AS (
    -- Classes of all sessions: what the kernel measures of CPUs and run queue comes before samples of sessions, which know neither.
    SELECT run, host, server, activity AS class, sessions, NULL AS session, activity AS who, NULL AS about
    FROM db_best_wait
    WHERE $by = 'class' AND in_db_time AND $server IN ('', server)
        AND concat($class, $event, $statement, $session, $user, $application, $client, $database) = ''
), chosen AS (
    SELECT d.run, d.host, server, class, sessions, session,
        coalesce(CASE $by WHEN 'user' THEN d.user WHEN 'client' THEN client WHEN 'database' THEN d.database WHEN 'server' THEN server WHEN 'class' THEN class
            WHEN 'event' THEN event WHEN 'session' THEN session_name WHEN 'application' THEN application ELSE digest END, '(none)') AS who,
        CASE WHEN $by = 'session' THEN concat_ws(' ', d.user, application, client) END AS about
    FROM db_session_share d
    WHERE is_client AND (in_db_time OR class = $class) AND NOT ($by = 'class' AND EXISTS (SELECT 1 FROM everyone))
        AND $server IN ('', server) AND $class IN ('', class) AND $event IN ('', event) AND $statement IN ('', coalesce(digest, '(none)'))
        AND $session IN ('', session_name) AND $user IN ('', coalesce(d.user, '(none)')) AND $application IN ('', coalesce(application, '(none)'))
        AND $client IN ('', coalesce(client, '(none)')) AND $database IN ('', coalesce(d.database, '(none)'))
    UNION ALL
    SELECT * FROM everyone
)
SELECT c.run, c.host, c.server, c.who, coalesce(any_value(x.statement), any_value(nullif(c.about, ''))) AS description, sum(sessions) AS active_sessions,
    100 * sum(sessions) / sum(sum(sessions)) OVER (PARTITION BY c.run, c.host) AS share_pct, nullif(count(DISTINCT session), 0) AS sessions_seen,
    coalesce(sum(sessions) FILTER (class = 'cpu'), 0) AS on_cpu,
    coalesce(sum(sessions) FILTER (class = 'run queue'), 0) AS run_queue,
    coalesce(sum(sessions) FILTER (class = 'user io'), 0) AS user_io,
    coalesce(sum(sessions) FILTER (class = 'system io'), 0) AS system_io,
    coalesce(sum(sessions) FILTER (class = 'commit'), 0) AS commit_wait,
    coalesce(sum(sessions) FILTER (class = 'concurrency'), 0) AS concurrency,
    coalesce(sum(sessions) FILTER (class = 'lock'), 0) AS lock_wait,
    coalesce(sum(sessions) FILTER (class = 'ipc'), 0) AS ipc,
    coalesce(sum(sessions) FILTER (class = 'client'), 0) AS client,
    coalesce(sum(sessions) FILTER (class = 'timeout'), 0) AS timeout,
    coalesce(sum(sessions) FILTER (class = 'extension'), 0) AS extension,
    coalesce(sum(sessions) FILTER (class = 'idle in transaction'), 0) AS idle_in_transaction,
    coalesce(sum(sessions) FILTER (class NOT IN ('cpu', 'run queue', 'user io', 'system io', 'commit', 'concurrency', 'lock', 'ipc', 'client', 'timeout', 'extension', 'idle in transaction')), 0) AS other
FROM chosen c
LEFT JOIN db_text x ON x.run = c.run AND x.host = c.host AND x.digest = c.who AND $by = 'statement'
GROUP BY c.run, c.host, c.server, c.who
ORDER BY c.run, c.host, active_sessions DESC, c.who
LIMIT $n
