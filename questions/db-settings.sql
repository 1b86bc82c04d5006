-- title: Which settings of the database are not the default?
-- about: Settings that somebody or a file set, with the value that they would have, and those that changed during the run or wait for a restart; what the server is comes first.
-- section: database
-- chart: table
-- order: 70
WITH values_of AS (
    SELECT run, host, server, name, arg_min(value, t) AS at_start, arg_max(value, t) AS value, any_value(s.unit) AS unit, arg_max(origin, t) AS origin,
        any_value(built_in) AS built_in, max(pending_restart) AS pending_restart
    FROM db_setting s
    GROUP BY run, host, server, name
)
SELECT run, host, server, name, value, unit, built_in, origin, CASE WHEN at_start IS DISTINCT FROM value THEN at_start END AS before, pending_restart
FROM values_of
WHERE origin = 'server' OR pending_restart = 'yes' OR at_start IS DISTINCT FROM value
    OR (value IS DISTINCT FROM built_in AND coalesce(origin, '') NOT IN ('default', 'override', 'COMPILE-TIME'))
ORDER BY run, host, server, origin = 'server' DESC, name
