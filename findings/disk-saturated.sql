-- title: A disk is saturated
-- severity: warning
-- section: disk
-- says: {device} was at least 95 % busy for {full_s:s} of {seen_s:s}, with {depth} requests in flight on average.
-- advice: Requests queue for the device: check who issues them, and whether latency grew meanwhile. A parallel device (SSD, array) may not be saturated at 100 %; judge it by its latency.
-- ask: disk-util
-- explains: disk-queue, disk-slow, io-pressure
-- part: block I/O
-- impact: full_s / seen_s of the time
-- names: disk, file
-- yes: disk device=sda class=disk util=99 queue_depth=8 *30
-- no: disk device=sda class=disk util=40 queue_depth=8 *30
--
-- no: disk device=sda class=disk util=99 queue_depth=0.99 *30
--
-- no: disk device=sda1 class=partition util=99 queue_depth=8 *30
--
-- no: disk device=sda class=disk util=99 queue_depth=9 *2
-- no: disk device=sda class=disk util=1 queue_depth=0.1 *28 @2
-- Utilisation with a queue behind it (USE method): one request at a time keeps a device busy but lets nobody wait, so
-- that two in flight are asked for. A tenth of the run, so that one burst is none.
-- Where the recorder started a command, or observed a database, that waited for a disk hardly ever, it is what others had: a fact.
WITH disks AS (
    SELECT run, host, device, sum(CASE WHEN util >= 95 AND queue_depth >= 2 THEN dt ELSE 0 END) AS full_s, sum(dt) AS seen_s,
        sum(CASE WHEN util >= 95 THEN queue_depth * dt END) / nullif(sum(CASE WHEN util >= 95 THEN dt END), 0) AS depth
    FROM disk
    WHERE coalesce(class, 'disk') = 'disk'
    GROUP BY run, host, device
)
SELECT d.run, d.host, device, full_s, seen_s, depth, CASE WHEN m.disk < 5 THEN 'info' ELSE 'warning' END AS severity
FROM disks d LEFT JOIN measured_wait m ON m.run = d.run AND m.host = d.host
WHERE full_s >= 0.1 * seen_s AND full_s >= 3
ORDER BY full_s DESC, depth DESC, d.run, d.host, device
