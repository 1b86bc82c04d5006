-- title: How long did the disks take?
-- about: Mean time from a request's arrival in the queue to its end, reads and writes, by disk; gaps are moments without requests.
-- section: disk
-- chart: line
-- x: t
-- y: read_await_ms, write_await_ms
-- series: device
-- unit: ms
-- order: 40
SELECT run, host, t, dt, device, read_await_ms, write_await_ms
FROM disk
WHERE coalesce(class, 'disk') = 'disk'
ORDER BY run, host, device, t
