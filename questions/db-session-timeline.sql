-- title: Which session was at work when?
-- about: Sessions with the most active time: from their first to their last sample at work, in seconds since the run began, with the middle of it; and for how long they were active in between.
-- section: database
-- chart: interval
-- x: session_name
-- y: middle_s, first_s, last_s
-- unit: s
-- order: 16
-- param: n = 40, how many sessions to show
WITH begun AS (
    SELECT run, host, min(t) AS begun FROM db_session GROUP BY run, host
), busy AS (
    SELECT d.run, d.host, d.server, d.session, concat_ws(' ', d.session, any_value(d.application)) AS session_name,
        min(epoch_us(d.t) - epoch_us(b.begun)) / 1e6 AS first_s, max(epoch_us(d.t) - epoch_us(b.begun)) / 1e6 AS last_s,
        sum(d.dt) AS active_s, mode(d.activity) AS mostly
    FROM db_session_share d
    JOIN begun b ON b.run = d.run AND b.host = d.host
    WHERE in_db_time
    GROUP BY d.run, d.host, d.server, d.session
)
SELECT run, host, server, session_name, (first_s + last_s) / 2 AS middle_s, first_s, last_s, active_s, mostly
FROM busy
QUALIFY row_number() OVER (PARTITION BY run, host ORDER BY active_s DESC, session) <= $n
ORDER BY run, host, first_s, session_name
