-- title: Many requests are in flight at one disk
-- severity: info
-- section: disk
-- says: {device} had {depth} requests in flight on average, and each took {mean_ms:ms}.
-- advice: Latency is the queue divided by the throughput (Little's law): halving the queue halves the latency when the device is at its limit. A load that asks for throughput only may queue like this on purpose.
-- ask: hot-disks
-- yes: disk device=nvme0n1 class=disk queue_depth=80 await_ms=6 *30
-- no: disk device=nvme0n1 class=disk queue_depth=3 await_ms=6 *30
--
-- no: disk device=nvme0n1 class=disk queue_depth=80 await_ms=0.2 *30
-- 32 is the depth of a SATA device's own queue (NCQ); what is beyond waits in the host. Without 2 ms nobody feels it.
WITH disks AS (
    SELECT run, host, device, wmean(queue_depth, dt) AS depth, wmean(await_ms, dt) AS mean_ms, sum(dt) AS seen_s
    FROM disk
    WHERE coalesce(class, 'disk') = 'disk'
    GROUP BY run, host, device
)
SELECT run, host, device, depth, mean_ms
FROM disks
WHERE depth >= 32 AND mean_ms >= 2 AND seen_s >= 3
ORDER BY depth DESC, run, host, device
