-- title: Data pages have wrong checksums
-- severity: critical
-- section: database
-- message: {name} read {n:data page|data pages} with a wrong checksum.
-- advice: Storage or memory damages data: keep the server's files as they are, look at the kernel's log and the disk, and restore from a backup.
-- ask: db-throughput
-- world: database
-- yes: db server=localhost database=shop checksum_failures=1 *1
-- no: db server=localhost database=shop checksum_failures=0 *30
--
-- no: db server=localhost database=shop deadlocks=1 *30
-- Any.
WITH counted AS (
    SELECT run, host, server, d.database AS name_of, CAST(sum(checksum_failures) AS BIGINT) AS n FROM db d GROUP BY run, host, server, d.database HAVING sum(checksum_failures) >= 1
)
SELECT run, host, concat_ws(' ', server, name_of) AS name, n
FROM counted
QUALIFY name_of IS NOT NULL OR count(name_of) OVER (PARTITION BY run, host, server) = 0
ORDER BY n DESC, run, host, name
