-- title: Small writes are flushed one by one
-- severity: warning
-- section: disk
-- message: {device} did {flushes:/s} flushes to stable storage for {writes:/s} writes of {size:B} on average, and was busy {util:%} of the time.
-- advice: Each flush waits for the device. Make several writes durable at once: a larger batch or transaction, group commit, one fsync at the end. Who waits is in `fenxi ask thread-waits`.
-- ask: disk-util
-- explains: io-pressure, small-io, writes-wait-flush
-- part: commit; system I/O
-- impact: util of the time
-- world: not storage bench
-- yes: disk device=sda class=disk flushes_per_s=900 writes_per_s=2000 write_bytes_per_s=9000000 util=60 *20
-- no: disk device=sda class=disk flushes_per_s=5 writes_per_s=2000 write_bytes_per_s=9000000 util=60 *20
--
-- no: disk device=sda class=disk flushes_per_s=900 writes_per_s=2000 write_bytes_per_s=9000000 util=10 *20
--
-- no: disk device=sda class=disk flushes_per_s=100 writes_per_s=400 write_bytes_per_s=200000000 util=90 *20
--
-- fact: disk device=sda class=disk flushes_per_s=3500 writes_per_s=7200 write_bytes_per_s=32000000 util=43 *20
-- A hundred flushes a second, one for ten writes and more, writes below 32 KiB, and a quarter of the time: below, flushes hold up little. A disk that is idle half
-- of the time is what a load of commits looks like: a fact.
WITH disks AS (
    SELECT run, host, device, wmean(flushes_per_s, dt) AS flushes, wmean(writes_per_s, dt) AS writes, wmean(write_bytes_per_s, dt) AS bytes, wmean(util, dt) AS util, sum(dt) AS seen_s
    FROM disk
    WHERE coalesce(class, 'disk') = 'disk'
    GROUP BY run, host, device
)
SELECT run, host, device, flushes, writes, bytes / writes AS size, util, CASE WHEN util >= 50 THEN 'warning' ELSE 'info' END AS severity
FROM disks
WHERE flushes >= 100 AND flushes >= 0.1 * writes AND bytes <= 32768 * writes AND util >= 25 AND seen_s >= 3
ORDER BY util DESC, run, host, device
