-- title: Most used files
-- severity: info
-- section: disk
-- message: {file} ({comm}, {transferred:B})
-- yes: io_pattern file=/var/lib/x/base/1 mount=/var comm=postgres op=read pattern=random ops_per_s=100 transfer_bytes_per_s=800000 *9
-- no: io_pattern mount=/var comm=postgres op=read pattern=random ops_per_s=100 transfer_bytes_per_s=800000 *9
--
-- no: io_pattern file=/var/lib/x/base/1 mount=/var comm=postgres op=lookup ops_per_s=100 *9
WITH moved AS (
    SELECT run, host, file, coalesce(comm, '(unnamed)') AS comm, sum(transfer_bytes_per_s * coalesce(dt, 1)) AS transferred
    FROM io_pattern
    WHERE op IN ('read', 'write') AND file IS NOT NULL
    GROUP BY run, host, file, coalesce(comm, '(unnamed)')
)
SELECT run, host, file, comm, transferred FROM moved WHERE transferred >= 65536 ORDER BY transferred DESC, run, host, file, comm
