-- title: When was each resource busy?
-- about: A lane for each resource: how full it was (utilisation), whether somebody waited for it (saturation), and what failed. Of a database the share of its sessions' time in each class of activity.
-- section: result
-- chart: heatmap
-- x: t
-- y: value
-- top: 100
-- series: resource
-- unit: %
-- order: 15
-- param: least = 5, lanes that never reach it are left out, percent
-- param: alike = 4, lanes of one sort (disks, links, cgroups, classes) at most
WITH lanes AS (
    SELECT run, host, place, resource, max(value) AS most, wmean(value, dt) AS mean FROM resource_use GROUP BY ALL
), shown AS (
    SELECT run, host, resource FROM lanes
    WHERE most >= $least OR place IN (10, 20)
    QUALIFY row_number() OVER (PARTITION BY run, host, place ORDER BY mean DESC, resource) <= $alike
)
SELECT run, host, t, dt, resource, value
FROM resource_use JOIN shown USING (run, host, resource)
WHERE value IS NOT NULL
ORDER BY run, host, place, resource, t
