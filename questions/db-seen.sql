-- title: What could not be seen of the database, and what did asking cost?
-- about: Notes on readings that were refused, switched off or cut, samples that were taken and when there were none, and the CPU time that asking took on both sides.
-- section: database
-- chart: table
-- order: 80
WITH servers AS (
    SELECT DISTINCT run, host, server FROM db
), sampled AS (
    SELECT run, host, server, 'samples of sessions' AS what, concat(CAST(CAST(sum(samples) AS BIGINT) AS VARCHAR), ' in ', CAST(round(sum(dt), 1) AS VARCHAR), ' s') AS value
    FROM db d WHERE samples IS NOT NULL AND d.database IS NULL GROUP BY run, host, server
), costs AS (
    SELECT run, host, regexp_extract(labels, 'server=(.*)', 1) AS server, name AS what, concat(CAST(round(1000 * wmean(value, dt), 2) AS VARCHAR), ' ms of CPU a second') AS value
    FROM metric WHERE name LIKE 'db_poller%cpu' GROUP BY run, host, labels, name
), notes AS (
    SELECT n.run, n.host, n.source AS server, 'note' AS what, message AS value
    FROM note n JOIN servers s ON s.run = n.run AND s.server = n.source
)
SELECT DISTINCT run, host, server, what, value
FROM (SELECT * FROM costs UNION ALL SELECT * FROM notes UNION ALL SELECT * FROM sampled)
ORDER BY run, host, server, what DESC, value
