-- title: How long did block devices take, and how long did requests wait before?
-- about: Requests by device and operation: time in the kernel's queue, which a busy device makes long, apart from the time at the device itself. Flushes and requests without a scheduler are in no queue.
-- section: disk
-- chart: table
-- order: 45
-- param: n = 30, how many lines to show
SELECT run, host, device, op, sum(requests) AS requests, sum(queued) AS queued,
    sum(queued * queue_us) / nullif(sum(queued) FILTER (WHERE queue_us IS NOT NULL), 0) AS queue_us,
    sum(requests * device_us) / nullif(sum(requests) FILTER (WHERE device_us IS NOT NULL), 0) AS device_us,
    sum(requests * device_us) / 1e6 AS at_device_s
FROM block_io
GROUP BY run, host, device, op
ORDER BY run, host, at_device_s DESC NULLS LAST, requests DESC, device, op
LIMIT $n
