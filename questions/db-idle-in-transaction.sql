-- title: Which sessions were idle in a transaction?
-- about: Sessions that had a transaction open and did nothing, from the first to the last sample of it in seconds since the first session was seen, with their longest pause: they hold locks, and keep dead rows from being removed.
-- section: database
-- chart: interval
-- x: session_name
-- y: middle_s, first_s, last_s
-- unit: s
-- order: 19
-- param: n = 40, how many sessions to show
WITH begun AS (
    SELECT run, host, min(t) AS begun FROM db_session GROUP BY run, host
), idle AS (
    SELECT d.run, d.host, d.server, d.session, concat_ws(' ', d.session, any_value(d.application)) AS session_name,
        min(epoch_us(d.t) - epoch_us(b.begun)) / 1e6 AS first_s, max(epoch_us(d.t) - epoch_us(b.begun)) / 1e6 AS last_s,
        sum(d.dt) AS idle_s, max(coalesce(state_age_s, transaction_age_s)) AS longest_s, max(transaction_age_s) AS transaction_age_s
    FROM db_session_share d
    JOIN begun b ON b.run = d.run AND b.host = d.host
    WHERE state ILIKE 'idle in transaction%' OR activity = 'idle in transaction'
    GROUP BY d.run, d.host, d.server, d.session
)
SELECT run, host, server, session_name, (first_s + last_s) / 2 AS middle_s, first_s, last_s, idle_s, longest_s, transaction_age_s
FROM idle
QUALIFY row_number() OVER (PARTITION BY run, host ORDER BY longest_s DESC NULLS LAST, idle_s DESC, session) <= $n
ORDER BY run, host, longest_s DESC NULLS LAST, session_name
