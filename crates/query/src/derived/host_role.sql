-- What each host of a run is there for, as `fenxi record --role` was told; hosts without a role have no row.
SELECT run, host, max(value) AS role
FROM text
WHERE topic = 'host' AND name = 'role' AND value IS NOT NULL
GROUP BY run, host
