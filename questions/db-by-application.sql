-- title: Which applications used the database?
-- about: Mean active sessions by application over time, from samples of sessions; the parameter chooses another view, such as class, event, statement, user or session, and the others keep what belongs to one of them ('(none)' is what has none).
-- section: database
-- chart: stacked
-- x: t
-- y: sessions
-- series: who
-- unit: s/s
-- order: 15
-- param: by = application, what to tell apart: application, user, client, database, server, class, event, statement or session
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
WITH seconds AS (
    SELECT d.run, d.host, date_trunc('second', t) AS second, greatest(1, max(dt)) AS dt,
        coalesce(CASE $by WHEN 'user' THEN d.user WHEN 'client' THEN client WHEN 'database' THEN d.database WHEN 'server' THEN server
            WHEN 'class' THEN class WHEN 'event' THEN event WHEN 'session' THEN session_name WHEN 'statement' THEN digest ELSE application END, '(none)') AS who,
        coalesce(sum(dt) FILTER (in_db_time OR class = $class), 0) / greatest(1, max(dt)) AS sessions
    FROM db_session_share d
    WHERE is_client AND $server IN ('', server) AND $class IN ('', class) AND $event IN ('', event) AND $statement IN ('', coalesce(digest, '(none)'))
        AND $session IN ('', session_name) AND $user IN ('', coalesce(d.user, '(none)')) AND $application IN ('', coalesce(application, '(none)'))
        AND $client IN ('', coalesce(client, '(none)')) AND $database IN ('', coalesce(d.database, '(none)'))
    GROUP BY ALL
), largest AS (
    SELECT run, host, who FROM seconds GROUP BY run, host, who
    QUALIFY row_number() OVER (PARTITION BY run, host ORDER BY sum(sessions * dt) DESC, who) <= $n
), moments AS (
    SELECT run, host, second, max(dt) AS dt
    FROM (SELECT run, host, second, dt FROM seconds UNION ALL SELECT run, host, date_trunc('second', t), 1 FROM db WHERE samples > 0)
    GROUP BY run, host, second
)
SELECT m.run, m.host, m.second AS t, m.dt, coalesce(left(x.statement, 60), l.who) AS who, coalesce(s.sessions, 0) AS sessions
FROM moments m
JOIN largest l ON l.run = m.run AND l.host = m.host
LEFT JOIN seconds s ON s.run = m.run AND s.host = m.host AND s.second = m.second AND s.who = l.who
LEFT JOIN db_text x ON x.run = l.run AND x.host = l.host AND x.digest = l.who AND $by = 'statement'
ORDER BY m.run, m.host, l.who, m.second
