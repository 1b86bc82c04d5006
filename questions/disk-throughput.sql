-- title: How much did the disks read and write?
-- about: Bytes per second read and written by each whole disk; partitions and stacked devices are omitted, as they repeat the same I/O.
-- section: disk
-- chart: line
-- x: t
-- y: read_bytes_per_s, write_bytes_per_s
-- series: device
-- unit: B/s
-- order: 20
-- live: disk: read_bytes_per_s, write_bytes_per_s
SELECT run, host, t, dt, device, read_bytes_per_s, write_bytes_per_s
FROM disk
WHERE coalesce(class, 'disk') = 'disk'
ORDER BY run, host, device, t
