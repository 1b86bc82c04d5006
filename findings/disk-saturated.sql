-- title: A disk is saturated
-- severity: warning
-- section: disk
-- message: {device} was at least 95 % busy for {full_s:s} of {seen_s:s}, {queued}.
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
-- yes: disk device=sda util=99 transfers_per_s=400 await_ms=20 *30
-- no: disk device=sda util=99 transfers_per_s=400 await_ms=2 *30
--
-- yes: disk device=sda util=99 *30
-- yes: sched blocked=5 *30
-- no: disk device=sda util=99 *30
-- no: sched blocked=1 *30
--
-- yes: disk device=sda util=99 in_flight=7 *30
-- no: disk device=sda util=99 *30
--
-- yes: disk device=sda util=99 queue_depth=8 *2
-- yes: disk device=sda util=99 queue_depth=8 dt=2
-- yes: disk device=sda util=99 queue_depth=8 *2 @2
-- no: disk device=sda util=99 queue_depth=8 *2
-- no: disk device=sda util=99 queue_depth=8 *2
-- no: disk device=sda util=99 queue_depth=8 dt=2
-- no: disk device=sda util=1 queue_depth=8 *2 @2
--
-- no: disk device=sda1 class=partition util=99 queue_depth=8 *30
--
-- no: disk device=sda class=disk util=99 queue_depth=9 *2
-- no: disk device=sda class=disk util=1 queue_depth=0.1 *28 @2
-- Utilisation with a queue behind it (USE method): one request at a time keeps a device busy but makes no task wait, so
-- that two in flight are asked for. A tenth of the run, so that one burst is none.
-- Where the queue of the disk is unknown, two tasks that were blocked meanwhile are as good; without these either the rule cannot be asked.
-- Where the recorder started a command, or observed a database, that waited for a disk hardly ever, it is what others had: a fact.
WITH blocked AS (
    SELECT run, host, wmean(blocked, dt) AS blocked FROM sched GROUP BY run, host
), uses AS (
    SELECT d.*, coalesce(d.queue, b.blocked) AS depth_at, d.queue IS NULL AS is_blocked
    FROM disk_use d LEFT JOIN blocked b ON b.run = d.run AND b.host = d.host
), disks AS (
    SELECT run, host, device, sum(CASE WHEN util >= 95 AND depth_at >= 2 THEN dt ELSE 0 END) AS full_s, sum(dt) AS seen_s,
        sum(CASE WHEN util >= 95 THEN depth_at * dt END) / nullif(sum(CASE WHEN util >= 95 AND depth_at IS NOT NULL THEN dt END), 0) AS depth,
        mode(CASE WHEN util >= 95 THEN CASE WHEN is_blocked THEN 'blocked' ELSE source END END) AS source
    FROM uses
    GROUP BY run, host, device
)
SELECT d.run, d.host, device, full_s, seen_s, depth, source,
    'with ' || CAST(round(depth, 1) AS VARCHAR) || CASE source WHEN 'blocked' THEN ' tasks of the machine blocked on average'
        WHEN 'rate and latency' THEN ' requests in flight on average (from their rate and latency)' ELSE ' requests in flight on average' END AS queued,
    CASE WHEN m.disk < 5 THEN 'info' ELSE 'warning' END AS severity
FROM disks d LEFT JOIN measured_wait m ON m.run = d.run AND m.host = d.host
WHERE full_s >= 0.1 * seen_s AND full_s >= 3
ORDER BY full_s DESC, depth DESC, d.run, d.host, device
