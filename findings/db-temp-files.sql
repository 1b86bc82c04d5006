-- title: A database sorts or hashes on disk
-- severity: warning
-- section: database
-- message: {name} wrote {rate:B/s} to temporary files, {total:B} in total.
-- advice: Sorts and hashes exceed memory: raise work_mem (or tmp_table_size) for the statements that need it, or add an index. Normal for reports and index builds.
-- ask: db-statements
-- world: database
-- yes: db server=localhost database=shop temp_bytes_per_s=4e7 *30
-- no: db server=localhost database=shop temp_bytes_per_s=2000 *30
-- 1 MiB a second on average. A server's own row is the sum of its databases.
WITH written AS (
    SELECT run, host, server, d.database AS name_of, wmean(temp_bytes_per_s, dt) AS rate, sum(temp_bytes_per_s * dt) AS total
    FROM db d
    GROUP BY run, host, server, d.database
    HAVING wmean(temp_bytes_per_s, dt) >= 1048576
)
SELECT run, host, concat_ws(' ', server, name_of) AS name, rate, total
FROM written
QUALIFY name_of IS NOT NULL OR count(name_of) OVER (PARTITION BY run, host, server) = 0
ORDER BY rate DESC, run, host, name
