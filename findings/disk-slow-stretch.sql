-- title: A disk had a latency spike
-- severity: warning
-- section: disk
-- message: {device} reached a mean latency of {worst_ms:ms} and exceeded {limit_ms:ms} for {slow_s:s} of {seen_s:s}; its median is {usual_ms:ms}.
-- advice: Find out what happened then: a burst of writes, writeback of dirty pages, a checkpoint, a noisy neighbour on shared storage. Zoom into the charts of the report.
-- ask: disk-latency
-- part: block I/O
-- impact: slow_s / seen_s of the time
-- yes: disk device=sda class=disk await_ms=2 reads_per_s=200 *60
-- yes: disk device=sda class=disk await_ms=60 reads_per_s=200 *6 @60
-- no: disk device=sda class=disk await_ms=2 reads_per_s=200 *60
-- no: disk device=sda class=disk await_ms=60 reads_per_s=200 *1 @60
--
-- no: disk device=sda class=disk await_ms=12 reads_per_s=200 *60
--
-- no: disk device=sda class=disk await_ms=2 reads_per_s=200 *60
-- no: disk device=sda class=disk await_ms=60 reads_per_s=0.5 *6 @60
-- Against its own median: five times as long, and more than 10 ms, which a person's work begins to feel when it adds
-- up. Moments with hardly any request (below 5 a second) say little and are left out. Three seconds at least.
-- Where the recorder started a command, or observed a database, that waited for a disk hardly ever, it is what others had: a fact.
WITH moments AS (
    SELECT run, host, device, dt, coalesce(await_ms, greatest(read_await_ms, write_await_ms)) AS ms
    FROM disk
    WHERE coalesce(class, 'disk') = 'disk' AND coalesce(reads_per_s, 0) + coalesce(writes_per_s, 0) + coalesce(transfers_per_s, 0) >= 5
), usual AS (
    SELECT run, host, device, median(ms) AS usual_ms, greatest(5 * median(ms), 10) AS limit_ms FROM moments GROUP BY run, host, device
), disks AS (
    SELECT run, host, device, usual_ms, limit_ms, max(ms) AS worst_ms, sum(CASE WHEN ms > limit_ms THEN dt ELSE 0 END) AS slow_s, sum(dt) AS seen_s
    FROM moments JOIN usual USING (run, host, device)
    GROUP BY run, host, device, usual_ms, limit_ms
)
SELECT d.run, d.host, device, worst_ms, limit_ms, slow_s, seen_s, usual_ms, CASE WHEN m.disk < 5 THEN 'info' ELSE 'warning' END AS severity
FROM disks d LEFT JOIN measured_wait m ON m.run = d.run AND m.host = d.host
WHERE slow_s >= 3
ORDER BY slow_s * worst_ms DESC, d.run, d.host, device
