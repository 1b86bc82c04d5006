-- title: A database sorts or hashes on disk
-- severity: warning
-- section: database
-- says: {name} wrote {rate:B/s} to temporary files, {total:B} in total.
-- advice: Sorts and hashes exceed memory: raise work_mem (or tmp_table_size) for the statements that need it, or add an index. Normal for reports and index builds.
-- ask: db-statements
-- yes: db server=localhost database=shop temp_bytes_per_s=4e7 *30
-- no: db server=localhost database=shop temp_bytes_per_s=2000 *30
-- 1 MiB a second on average.
SELECT run, host, concat_ws(' ', server, database) AS name, wmean(temp_bytes_per_s, dt) AS rate, sum(temp_bytes_per_s * dt) AS total
FROM db
GROUP BY run, host, server, database
HAVING wmean(temp_bytes_per_s, dt) >= 1048576
ORDER BY rate DESC, run, host, name
