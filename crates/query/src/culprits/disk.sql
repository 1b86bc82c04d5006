-- title: Most storage I/O
-- severity: info
-- section: disk
-- message: {comm} {read:B/s} read and {written:B/s} written
-- yes: process pid=7 comm=dd write_bytes_per_s=50e6 read_bytes_per_s=0 *9
-- no: process pid=7 comm=dd write_bytes_per_s=900 read_bytes_per_s=0 *9
--
-- no: process pid=7 comm=dd cpu=90 *9
-- What processes caused of the storage, page cache aside; below 64 KiB/s there is no culprit.
WITH spans AS (
    SELECT run, host, sum(dt) AS seen_s FROM (SELECT DISTINCT run, host, t, dt FROM process) GROUP BY run, host
), moved AS (
    SELECT run, host, comm, coalesce(sum(read_bytes_per_s * dt), 0) AS read_bytes, coalesce(sum(write_bytes_per_s * dt), 0) AS written_bytes FROM process GROUP BY run, host, comm
)
SELECT m.run, m.host, coalesce(comm, '(unnamed)') AS comm, read_bytes / seen_s AS read, written_bytes / seen_s AS written
FROM moved m JOIN spans s ON s.run = m.run AND s.host = m.host
WHERE read_bytes + written_bytes >= 65536 * seen_s
ORDER BY read_bytes + written_bytes DESC, m.run, m.host, comm
