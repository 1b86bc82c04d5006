-- title: How high was disk latency?
-- about: Mean latency of reads and writes by disk, from arrival in the queue to completion; gaps are times without requests.
-- section: disk
-- chart: line
-- x: t
-- y: read_await_ms, write_await_ms
-- series: device
-- unit: ms
-- order: 40
-- live: disk: await_ms
SELECT run, host, t, dt, device, read_await_ms, write_await_ms, reads_per_s, writes_per_s
FROM disk
WHERE coalesce(class, 'disk') = 'disk'
ORDER BY run, host, device, t
