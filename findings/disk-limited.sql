-- title: A program waits for disks that have nothing to do
-- severity: warning
-- section: disk
-- message: {waiting} threads of {comm} waited for a disk on average, {share:%} of their time, while the busiest disk ({device}) was busy {util:%} of the time with {moved:B/s}.
-- advice: Something holds the requests back before the disk: a limit of the cgroup (io.max, blkio.throttle.*), of the volume or the hypervisor (IOPS and bandwidth of a cloud disk), or a layer without its own figures (loop, dm, network). See the limits of its cgroup and the plan of the volume.
-- ask: hot-disks
-- explains: programs-wait-disk, writes-wait-flush, writes-throttled, io-pressure, flush-waits, reads-past-cache
-- impact: share of its threads' time
-- yes: sched cpus_online=4 *20
-- yes: thread_wait pid=7 comm=app wait=disk function=folio_wait_bit_common threads=0.9 *20
-- yes: thread_wait pid=7 comm=app wait=run threads=0.1 *20
-- yes: disk device=vda class=disk util=4 read_bytes_per_s=1e6 write_bytes_per_s=0 *20
-- no: sched cpus_online=4 *20
-- no: thread_wait pid=7 comm=app wait=disk function=folio_wait_bit_common threads=0.9 *20
-- no: thread_wait pid=7 comm=app wait=run threads=0.1 *20
-- no: disk device=vda class=disk util=80 read_bytes_per_s=1e8 write_bytes_per_s=0 *20
--
-- no: sched cpus_online=4 *20
-- no: thread_wait pid=7 comm=app wait=disk function=folio_wait_bit_common threads=0.3 *20
-- no: thread_wait pid=7 comm=app wait=run threads=0.7 *20
-- no: disk device=vda class=disk util=20 read_bytes_per_s=1e6 write_bytes_per_s=0 *20
-- Half of its time, and three times as much as the busiest disk worked at all: a single reader's waits are the disk's busy time.
WITH disks AS (
    SELECT run, host, device, wmean(util, dt) AS util, wmean(coalesce(read_bytes_per_s, 0) + coalesce(write_bytes_per_s, 0), dt) AS moved
    FROM disk
    WHERE util IS NOT NULL
    GROUP BY run, host, device
    QUALIFY row_number() OVER (PARTITION BY run, host ORDER BY wmean(util, dt) DESC, device) = 1
), programs AS (
    SELECT run, host, comm, sum(threads) FILTER (wait IN ('disk', 'flush', 'dirty pages')) AS threads, sum(threads) AS at_work, max(looks) FILTER (wait IN ('disk', 'flush', 'dirty pages')) AS looks,
        any_value(seen_s) AS seen_s
    FROM thread_wait_mean WHERE is_subject GROUP BY run, host, comm
)
SELECT p.run, p.host, p.comm, steady(p.threads) AS waiting, 100 * p.threads / p.at_work AS share, d.device, d.util, d.moved
FROM programs p JOIN disks d ON d.run = p.run AND d.host = p.host
WHERE p.threads >= 0.4 AND p.threads >= 0.5 * p.at_work AND 100 * least(p.threads, 1) >= 3 * d.util AND p.looks >= 4 AND p.seen_s >= 3
ORDER BY waiting DESC, p.run, p.host, p.comm
