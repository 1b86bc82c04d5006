-- title: Which host differs from its peers?
-- about: How full each resource was on each host, beside the median of all hosts of the run: utilisation, waits and errors in percent. Hosts of one role should be alike; the largest differences come first.
-- section: result
-- chart: table
-- order: 18
-- param: least = 5, resources whose means are all within so many points of the median are left out, percent
WITH means AS (
    SELECT run, host, place, resource, kind, wmean(value, dt) AS mean, max(value) AS most
    FROM resource_use
    WHERE value IS NOT NULL AND resource NOT LIKE 'db %'
    GROUP BY run, host, place, resource, kind
), peers AS (
    SELECT *, median(mean) OVER (PARTITION BY run, resource) AS typical, count(*) OVER (PARTITION BY run, resource) AS hosts
    FROM means
), shown AS (
    SELECT *, max(abs(mean - typical)) OVER (PARTITION BY run, resource) AS apart FROM peers WHERE hosts >= 2
)
SELECT run, host, resource, kind, mean, most, typical AS median_of_hosts, mean - typical AS difference
FROM shown
WHERE apart >= $least
ORDER BY run, apart DESC, place, resource, abs(mean - typical) DESC, host
