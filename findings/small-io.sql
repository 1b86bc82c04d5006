-- title: A disk gets many small requests
-- severity: info
-- section: disk
-- message: {what} did {ops:/s} operations with a mean size of {size:B}.
-- advice: IOPS limit before bandwidth does. Look for missing read-ahead, small blocks, or index access where a scan would be better. Normal for a database that looks up single rows.
-- ask: disk-throughput
-- world: not storage bench
-- yes: disk device=sda class=disk reads_per_s=4000 read_bytes_per_s=16384000 writes_per_s=0 write_bytes_per_s=0 *30
--
-- yes: io_pattern mount=/data op=read pattern=random ops_per_s=5000 size_bytes=4096 *30
-- no: disk device=sda class=disk reads_per_s=4000 read_bytes_per_s=4e8 writes_per_s=0 write_bytes_per_s=0 *30
--
-- no: disk device=sda class=disk reads_per_s=20 read_bytes_per_s=81920 writes_per_s=0 write_bytes_per_s=0 *30
--
-- no: io_pattern mount=/data op=read pattern=sequential ops_per_s=5000 size_bytes=4096 *30
-- Below 16 KiB (the page of most databases) at a thousand a second, which is beyond any rotating disk.
WITH disks AS (
    SELECT run, host, device AS what, wmean(coalesce(reads_per_s, 0) + coalesce(writes_per_s, 0), dt) AS ops,
        wmean(coalesce(read_bytes_per_s, 0) + coalesce(write_bytes_per_s, 0), dt) AS bytes
    FROM disk
    WHERE coalesce(class, 'disk') = 'disk'
    GROUP BY run, host, device
    UNION ALL
    SELECT run, host, concat_ws(' ', 'Random', op || 's of', coalesce(file, mount), comm), wmean(ops_per_s, dt), wmean(ops_per_s * size_bytes, dt)
    FROM io_pattern
    WHERE pattern = 'random' AND op IN ('read', 'write')
    GROUP BY run, host, op, mount, file, comm
)
SELECT run, host, what, ops, bytes / nullif(ops, 0) AS size
FROM disks
WHERE ops >= 1000 AND bytes > 0 AND bytes / nullif(ops, 0) < 16384
ORDER BY ops DESC, run, host, what
