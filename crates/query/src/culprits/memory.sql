-- title: Most memory
-- severity: info
-- section: memory
-- message: {comm} {resident:B}
-- yes: process pid=7 comm=java rss_bytes=9e9 *9
-- no: process pid=7 comm=java rss_bytes=1e6 *9
--
-- no: process pid=7 comm=java cpu=90 *9
WITH sizes AS (
    SELECT run, host, comm, pid, max(rss_bytes) AS resident FROM process WHERE rss_bytes IS NOT NULL GROUP BY run, host, comm, pid
)
SELECT run, host, concat(coalesce(comm, '(unnamed)'), coalesce(concat(' (process ', CAST(pid AS VARCHAR), ')'), '')) AS comm, resident
FROM sizes
WHERE resident >= 16777216
ORDER BY resident DESC, run, host, comm
