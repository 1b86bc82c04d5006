-- title: A database approaches transaction wraparound
-- severity: warning
-- section: database
-- message: The oldest unfrozen row of {name} is {age} transactions old; writes stop near 2.1 billion.
-- advice: Let VACUUM freeze (not FULL), after ending what holds old snapshots: long transactions, prepared ones, replication slots. fenxi ask db-freeze names the tables.
-- ask: db-freeze
-- world: database
-- yes: db server=localhost database=shop xid_age=1.2e9 *3
-- no: db server=localhost database=shop xid_age=1.9e8 *3
--
-- no: db server=localhost database=shop mxid_age=1.9e8 xid_age=5e8 *3
-- A billion is half of the way; critical from vacuum_failsafe_age, 1.6 billion, where VACUUM itself makes haste.
WITH ages AS (
    SELECT run, host, server, d.database AS name_of, max(greatest(coalesce(xid_age, 0), coalesce(mxid_age, 0))) AS age FROM db d GROUP BY run, host, server, d.database
)
SELECT run, host, concat_ws(' ', server, name_of) AS name, CAST(age AS BIGINT) AS age, CASE WHEN age >= 1.6e9 THEN 'critical' ELSE 'warning' END AS severity
FROM ages
WHERE age >= 1e9
QUALIFY name_of IS NOT NULL OR count(name_of) OVER (PARTITION BY run, host, server) = 0
ORDER BY age DESC, run, host, name
