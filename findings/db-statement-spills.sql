-- title: A statement sorts or hashes on disk
-- severity: info
-- section: database
-- message: Each call of {statement} writes {per_call:B} to temporary files: {rate:B/s}, and {share:%} of what all statements write there.
-- advice: Its sorts and hashes exceed work_mem. Rows take more room in memory than in a file: set work_mem for this statement alone (SET LOCAL, or ALTER ROLE) to more than that over the number of its sorts and hashes (fenxi ask db-statement-plans), and look whether the files are gone. An index in the order of the sort needs no memory.
-- ask: db-statements-by
-- explains: db-temp-files
-- world: database
-- yes: db_statement server=localhost database=shop digest=a statement="select a" calls_per_s=2 time=0.8 temp_bytes_per_s=4e7 dt=10 *3
-- yes: db_statement server=localhost database=shop digest=b statement="select b" calls_per_s=2 time=0.1 temp_bytes_per_s=0 dt=10 *3
-- no: db_statement server=localhost database=shop digest=a statement="select a" calls_per_s=900 time=0.8 temp_bytes_per_s=2e5 dt=10 *3
--
-- no: db_statement server=localhost database=shop digest=a statement="select a" calls_per_s=2 time=0.8 dt=10 *3
--
-- no: db_statement server=localhost database=shop digest=a statement="create index on a (b)" calls_per_s=0.1 time=0.8 temp_bytes_per_s=4e7 dt=10 *3
-- 1 MiB a second on average, as for a server's temporary files, and half of them. Index builds have their own memory, maintenance_work_mem.
WITH each AS (
    SELECT run, host, server, database, digest, any_value(left(statement, 120)) AS statement, sum(temp_bytes_per_s * coalesce(dt, 1)) AS written, sum(calls_per_s * coalesce(dt, 1)) AS calls
    FROM db_statement
    WHERE digest IS NOT NULL AND coalesce(nested, 'no') <> 'yes'
    GROUP BY run, host, server, database, digest
), spans AS (
    SELECT run, host, server, sum(dt) AS seen_s FROM (SELECT DISTINCT run, host, server, t, coalesce(dt, 1) AS dt FROM db_statement) GROUP BY run, host, server
), shares AS (
    SELECT e.*, s.seen_s, 100 * e.written / nullif(sum(e.written) OVER (PARTITION BY e.run, e.host, e.server), 0) AS share
    FROM each e
    JOIN spans s ON s.run = e.run AND s.host = e.host AND s.server IS NOT DISTINCT FROM e.server
)
SELECT run, host, server, digest, statement, written / calls AS per_call, written / seen_s AS rate, share
FROM shares
WHERE calls > 0 AND written >= 1048576 * seen_s AND share >= 50 AND NOT regexp_matches(lower(statement), '^(create|alter|reindex|cluster|refresh|vacuum|analyze)')
ORDER BY written DESC, run, host, server, digest
