-- title: Which database settings differ between runs?
-- about: Settings that have not the same value in all runs asked about; version, role and start of the server among them. With one run nothing differs, and what changed within it is shown.
-- section: database
-- chart: table
-- order: 71
WITH seen AS (
    SELECT run, host, server, name, value, s.unit FROM db_setting s
), varied AS (
    SELECT name FROM seen GROUP BY name HAVING count(DISTINCT value) > 1
)
SELECT run, host, server, name, value, unit
FROM seen
WHERE name IN (SELECT name FROM varied) AND name NOT IN ('started', 'pid')
ORDER BY name, run, host, server, value
