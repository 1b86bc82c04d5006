-- title: The queue of a disk is deep
-- severity: info
-- section: disk
-- message: {device} had {depth} requests in flight on average, with a latency of {mean_ms:ms}.
-- advice: Latency is queue depth divided by throughput (Little's law): at saturation, half the queue is half the latency. A throughput-oriented load may queue like this on purpose.
-- ask: hot-disks
-- kind: symptom
-- names: disk, file
-- causes: disk-saturated (a disk that is full), disk-limited (a limit of the device), small-io (small requests)
-- yes: disk device=nvme0n1 class=disk queue_depth=80 await_ms=6 *30
-- no: disk device=nvme0n1 class=disk queue_depth=3 await_ms=6 *30
--
-- no: disk device=nvme0n1 class=disk queue_depth=80 await_ms=0.2 *30
--
-- yes: disk device=nvme0n1 reads_per_s=9000 read_await_ms=6 *30
-- 32 is the depth of a SATA device's own queue (NCQ); what is beyond waits in the host. Below 2 ms it has no effect.
WITH disks AS (
    SELECT run, host, device, wmean(queue, dt) AS depth, wmean(mean_ms, dt) AS mean_ms, sum(dt) AS seen_s
    FROM disk_use
    GROUP BY run, host, device
)
SELECT run, host, device, depth, mean_ms
FROM disks
WHERE depth >= 32 AND mean_ms >= 2 AND seen_s >= 3
ORDER BY depth DESC, run, host, device
