-- title: Disk latency is high
-- severity: warning
-- section: disk
-- message: {device} served {requests:request|requests} with a mean latency of {mean_ms:ms}.
-- advice: Compare with what the device should do: some milliseconds for a hard disk, well below one for flash. Background writes in a deep queue may be slow without delaying anything.
-- ask: slow-disks
-- part: block I/O
-- yes: disk device=sda class=disk read_await_ms=45 reads_per_s=100 *30
-- no: disk device=sda class=disk read_await_ms=4 reads_per_s=100 *30
--
-- no: disk device=sda class=disk read_await_ms=45 reads_per_s=0.1 *30
--
-- no: disk device=sda class=disk write_await_ms=90 writes_per_s=40 read_await_ms=1 reads_per_s=5 *30
-- no: pressure resource=io some=2 *30
--
-- yes: disk device=sda class=disk write_await_ms=90 writes_per_s=40 read_await_ms=1 reads_per_s=5 *30
-- yes: pressure resource=io some=40 *30
--
-- no: disk device=sda class=disk write_await_ms=25 writes_per_s=260 write_bytes_per_s=800000000 *30
-- no: pressure resource=io some=40 *30
--
-- yes: disk device=sda class=disk write_await_ms=90 writes_per_s=260 write_bytes_per_s=800000000 *30
-- yes: pressure resource=io some=40 *30
--
-- yes: disk device=sda await_ms=45 transfers_per_s=100 *30
-- no: disk device=sda await_ms=4 transfers_per_s=100 *30
-- 20 ms is slow for any disk that is not overloaded: a rotating one needs about ten. Large requests may take 10 ms more for each MiB. Weighted by requests, at
-- least a hundred of them.
-- Writeback in the background may be slow while no task waits for it, which pressure shows: where tasks hardly stalled for I/O it is none.
-- Where the recorder started a command, or observed a database, that waited for a disk hardly ever, it is what others had: a fact.
WITH means AS (
    SELECT run, host, device, sum(requests * dt) AS n, wmean(mean_ms, requests * dt) AS mean_ms, coalesce(sum(bytes * dt) / nullif(sum(requests * dt), 0), 0) AS size
    FROM disk_use
    WHERE mean_ms IS NOT NULL
    GROUP BY run, host, device
), calm AS (
    SELECT run, host FROM pressure w WHERE resource = 'io' GROUP BY run, host HAVING wmean(w.some, dt) < 5
)
SELECT d.run, d.host, device, CAST(round(n) AS BIGINT) AS requests, d.mean_ms, CASE WHEN m.disk < 5 THEN 'info' ELSE 'warning' END AS severity
FROM means d LEFT JOIN measured_wait m ON m.run = d.run AND m.host = d.host
WHERE d.mean_ms >= 20 + 10 * size / 1048576 AND n >= 100 AND NOT EXISTS (SELECT 1 FROM calm c WHERE c.run = d.run AND c.host = d.host)
ORDER BY d.mean_ms DESC, d.run, d.host, device
