-- title: When were block devices slow?
-- about: Mean time of a request at the device, and in the queue before, over time; gaps are moments without requests.
-- section: disk
-- chart: line
-- x: t
-- y: device_us, queue_us
-- series: what
-- unit: us
-- order: 46
-- live: block_io: device_us, queue_us
SELECT run, host, t, dt, device || ' ' || op AS what, device_us, queue_us
FROM block_io
ORDER BY run, host, what, t
