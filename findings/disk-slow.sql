-- title: Disk latency is high
-- severity: warning
-- section: disk
-- says: {device} served {requests} requests with a mean latency of {mean_ms:ms}.
-- advice: Compare with what the device should do: some milliseconds for a hard disk, well below one for flash. Background writes in a deep queue may be slow without delaying anything.
-- ask: slow-disks
-- part: block I/O
-- yes: disk device=sda class=disk read_await_ms=45 reads_per_s=100 *30
-- no: disk device=sda class=disk read_await_ms=4 reads_per_s=100 *30
--
-- no: disk device=sda class=disk read_await_ms=45 reads_per_s=0.1 *30
--
-- yes: disk device=sda await_ms=45 transfers_per_s=100 *30
-- no: disk device=sda await_ms=4 transfers_per_s=100 *30
-- 20 ms is slow for any disk that is not overloaded: a rotating one needs about ten. Weighted by requests, at least a hundred of them.
-- Where the recorder started a command, or observed a database, that waited for a disk hardly ever, it is what others had: a fact.
WITH means AS (
    SELECT run, host, device, sum(requests * dt) AS n, wmean(mean_ms, requests * dt) AS mean_ms
    FROM disk_use
    WHERE mean_ms IS NOT NULL
    GROUP BY run, host, device
)
SELECT d.run, d.host, device, CAST(round(n) AS BIGINT) AS requests, d.mean_ms, CASE WHEN m.disk < 5 THEN 'info' ELSE 'warning' END AS severity
FROM means d LEFT JOIN measured_wait m ON m.run = d.run AND m.host = d.host
WHERE d.mean_ms >= 20 AND n >= 100
ORDER BY d.mean_ms DESC, d.run, d.host, device
