-- title: Which tables does the file system read and write?
-- about: A table's requests in the server beside the operations on its files (trace iopattern) and the page cache that holds them (memstat). Requests that the files do not show were answered by the server's cache; operations faster than the disk by the page cache.
-- section: database
-- chart: table
-- order: 46
-- param: n = 20, how many tables to show
WITH files AS (
    SELECT run, host, regexp_replace(file, '(\.[0-9]+|_vm|_fsm|_init)$', '') AS file,
        sum(ops_per_s * dt) FILTER (op = 'read') AS reads, sum(ops_per_s * dt) FILTER (op = 'write') AS writes,
        sum(ops_per_s * dt * mean_us) FILTER (op = 'read') / nullif(sum(ops_per_s * dt) FILTER (op = 'read'), 0) AS read_mean_us
    FROM io_pattern
    WHERE file IS NOT NULL
    GROUP BY run, host, regexp_replace(file, '(\.[0-9]+|_vm|_fsm|_init)$', '')
), tables AS (
    SELECT run, host, server, d.database AS database_name, relation, any_value(file) AS file, sum(cache_misses_per_s * coalesce(dt, 1)) AS misses, sum(cache_hits_per_s * coalesce(dt, 1)) AS hits
    FROM db_table d
    GROUP BY run, host, server, d.database, relation
)
SELECT t.run, t.host, t.server, t.database_name, t.relation, round(t.hits) AS cache_hits, round(t.misses) AS cache_misses, round(f.reads) AS file_reads, f.read_mean_us, round(f.writes) AS file_writes, f.file
FROM tables t
JOIN files f ON f.run = t.run AND f.host = t.host AND (f.file = t.file OR ends_with(f.file, concat('/', t.file)))
ORDER BY t.run, t.host, f.reads DESC NULLS LAST, t.relation
LIMIT $n
