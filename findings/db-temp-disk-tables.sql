-- title: Internal temporary tables go to disk
-- severity: warning
-- section: database
-- message: {share:%} of the internal temporary tables of {server} were made on disk, {rate:/s}.
-- advice: Look for GROUP BY, DISTINCT and UNION over large or text columns; raise tmp_table_size and max_heap_table_size together, or add an index in the order wanted.
-- ask: db-statements
-- world: database
-- yes: db server=localhost temp_tables_per_s=20 temp_disk_tables_per_s=10 *40
-- no: db server=localhost temp_tables_per_s=200 temp_disk_tables_per_s=10 *40
--
-- no: db server=localhost temp_tables_per_s=0.2 temp_disk_tables_per_s=0.2 *40
-- A quarter is MySQLTuner's limit; one a second, as monitoring makes some by itself.
SELECT run, host, server, wmean(temp_disk_tables_per_s, dt) AS rate, 100 * wmean(temp_disk_tables_per_s, dt) / wmean(temp_tables_per_s, dt) AS share
FROM db
GROUP BY run, host, server
HAVING wmean(temp_disk_tables_per_s, dt) >= 1 AND wmean(temp_disk_tables_per_s, dt) > 0.25 * wmean(temp_tables_per_s, dt) AND sum(dt) >= 5
ORDER BY rate DESC, run, host, server
