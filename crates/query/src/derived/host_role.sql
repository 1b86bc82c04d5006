-- The purpose of each host of a run, as given by `fenxi record --role`; hosts without a role have no row.
SELECT run, host, max(value) AS role
FROM text
WHERE topic = 'host' AND name = 'role' AND value IS NOT NULL
GROUP BY run, host
