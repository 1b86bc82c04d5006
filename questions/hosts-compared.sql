-- title: Which host differs from its peers?
-- about: How full each resource was on each host, beside the median of its peers: the hosts of its role (`--role`), or all hosts without one. Utilisation, waits and errors in percent. Hosts of one role should be alike; the largest differences come first.
-- section: result
-- chart: table
-- order: 18
-- param: least = 5, resources whose means are all within so many points of the median are left out, percent
WITH means AS (
    SELECT u.run, u.host, coalesce(g.role, '') AS role, u.place, u.resource, u.kind, wmean(u.value, u.dt) AS mean, max(u.value) AS most
    FROM resource_use u LEFT JOIN host_role g ON g.run = u.run AND g.host = u.host
    WHERE u.value IS NOT NULL AND u.resource NOT LIKE 'db %'
    GROUP BY u.run, u.host, g.role, u.place, u.resource, u.kind
), peers AS (
    SELECT *, median(mean) OVER (PARTITION BY run, role, resource) AS typical, count(*) OVER (PARTITION BY run, role, resource) AS hosts
    FROM means
), shown AS (
    SELECT *, max(abs(mean - typical)) OVER (PARTITION BY run, role, resource) AS apart FROM peers WHERE hosts >= 2
)
SELECT run, host, nullif(role, '') AS role, resource, kind, mean, most, typical AS median_of_peers, mean - typical AS difference
FROM shown
WHERE apart >= $least
ORDER BY run, apart DESC, place, resource, role, abs(mean - typical) DESC, host
