-- title: A program waits for disks that have nothing to do
-- severity: warning
-- section: disk
-- message: {waiting} threads of {comm} waited for a disk on average, {share:%} of {of_what}, while the busiest disk ({device}) was busy {util:%} of the time with {moved:B/s}.
-- advice: Something holds the requests back before the disk: a limit of the cgroup (io.max, blkio.throttle.*), of the volume or the hypervisor (IOPS and bandwidth of a cloud disk), or a layer without its own figures (loop, dm, network). See the limits of its cgroup and the plan of the volume.
-- ask: hot-disks
-- explains: programs-wait-disk, writes-wait-flush, writes-throttled, io-pressure, flush-waits, flushes-of-small-writes, reads-past-cache, db-commit-wait, db-reads-slow
-- part: commit; user I/O; system I/O; block I/O
-- impact: share of its threads' time
-- yes: sched cpus_online=4 *20
-- yes: thread_wait pid=7 comm=app wait=disk function=folio_wait_bit_common threads=0.9 *20
-- yes: thread_wait pid=7 comm=app wait=run threads=0.1 *20
-- yes: disk device=vda class=disk util=4 read_bytes_per_s=1e6 write_bytes_per_s=0 *20
--
-- yes: sched cpus_online=4 *20
-- yes: db server=localhost samples=10 *20
-- yes: db_session server=localhost session=1 kind="client backend" activity=commit pid=7 dt=0.8 *20
-- yes: thread_wait pid=7 comm=postgres wait=flush function=submit_bio_wait threads=0.8 *20
-- yes: thread_wait pid=8 comm=postgres wait=lock function=futex_do_wait threads=6 *20
-- yes: disk device=vda class=disk util=4 read_bytes_per_s=0 write_bytes_per_s=1e6 *20
-- no: sched cpus_online=4 *20
-- no: thread_wait pid=7 comm=app wait=disk function=folio_wait_bit_common threads=0.9 *20
-- no: thread_wait pid=7 comm=app wait=run threads=0.1 *20
-- no: disk device=vda class=disk util=80 read_bytes_per_s=1e8 write_bytes_per_s=0 *20
--
-- no: sched cpus_online=4 *20
-- no: thread_wait pid=7 comm=app wait=disk function=folio_wait_bit_common threads=0.3 *20
-- no: thread_wait pid=7 comm=app wait=run threads=0.7 *20
-- no: disk device=vda class=disk util=20 read_bytes_per_s=1e6 write_bytes_per_s=0 *20
--
-- no: sched cpus_online=4 *20
-- no: db server=localhost samples=10 *20
-- no: db_session server=localhost session=1 kind="client backend" activity=commit wait_event=SyncRep pid=7 dt=0.8 *20
-- no: thread_wait pid=7 comm=postgres wait=poll function=do_epoll_wait threads=0.8 *20
-- no: disk device=vda class=disk util=4 read_bytes_per_s=0 write_bytes_per_s=1e6 *20
--
-- no: sched cpus_online=4 *20
-- no: db server=localhost samples=10 *20
-- no: db_session server=localhost session=1 kind="client backend" activity=commit pid=7 dt=0.2 *20
-- no: db_session server=localhost session=2 kind="client backend" activity=lock pid=8 dt=0.8 *20
-- no: thread_wait pid=7 comm=postgres wait=flush function=submit_bio_wait threads=0.5 *20
-- no: thread_wait pid=8 comm=postgres wait=lock function=futex_do_wait threads=6 *20
-- no: disk device=vda class=disk util=4 read_bytes_per_s=0 write_bytes_per_s=1e6 *20
-- Half of its time (of a database server: of its sessions' time, as those wait for one that is in the kernel), and three times as much as the busiest disk worked at all: a single reader's waits are the disk's busy time.
WITH disks AS (
    SELECT run, host, device, wmean(util, dt) AS util, wmean(coalesce(read_bytes_per_s, 0) + coalesce(write_bytes_per_s, 0), dt) AS moved
    FROM disk
    WHERE util IS NOT NULL
    GROUP BY run, host, device
    QUALIFY row_number() OVER (PARTITION BY run, host ORDER BY wmean(util, dt) DESC, device) = 1
), programs AS (
    SELECT run, host, comm, sum(threads) FILTER (wait IN ('disk', 'flush', 'dirty pages')) AS threads, sum(threads) AS at_work, sum(looks) FILTER (wait IN ('disk', 'flush', 'dirty pages')) AS looks,
        any_value(seen_s) AS seen_s
    FROM thread_wait_mean WHERE is_subject GROUP BY run, host, comm
), sessions AS (
    SELECT run, host, coalesce(sum(sessions) FILTER (class IN ('commit', 'user io', 'system io')), 0) / sum(sessions) AS waiting
    FROM db_session_share WHERE in_db_time
    GROUP BY run, host
), shares AS (
    SELECT p.*, s.waiting IS NOT NULL AS is_server, coalesce(s.waiting, p.threads / p.at_work) AS waiting
    FROM programs p
    LEFT JOIN sessions s ON s.run = p.run AND s.host = p.host AND p.comm IN ('postgres', 'mariadbd', 'mysqld')
)
SELECT p.run, p.host, p.comm, steady(p.threads) AS waiting, 100 * p.waiting AS share, if(p.is_server, 'the DB time', 'their time') AS of_what, d.device, d.util, d.moved
FROM shares p JOIN disks d ON d.run = p.run AND d.host = p.host
WHERE p.threads >= 0.4 AND p.waiting >= 0.5 AND 100 * least(p.threads, 1) >= 3 * d.util AND p.looks >= 4 AND p.seen_s >= 3
ORDER BY waiting DESC, p.run, p.host, p.comm
