-- title: What did sessions that ran a statement wait for?
-- about: Mean sessions by class and event, of samples in which they ran the statement with this digest; without one, of all statements.
-- section: database
-- chart: bar
-- y: sessions
-- unit: s/s
-- order: 34
-- param: digest = '', digest of the statement, as db-statements shows it
-- param: n = 20, how many events to show
WITH events AS (
    SELECT run, host, server, coalesce(activity, lower(wait_class), 'cpu') AS activity, wait_event, sum(sessions) AS sessions
    FROM db_session_share
    WHERE in_db_time AND (digest = $digest OR $digest = '')
    GROUP BY ALL
)
SELECT run, host, concat_ws(' ', activity, wait_event) AS event, sessions, 100 * sessions / sum(sessions) OVER (PARTITION BY run, host, server) AS share_pct, server
FROM events
ORDER BY run, host, sessions DESC, event
LIMIT $n
