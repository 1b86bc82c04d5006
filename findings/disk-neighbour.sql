-- title: Another program uses the disk
-- severity: warning
-- section: disk
-- message: {comm} read and wrote {moved:B/s}, {of_all:%} of what all programs did, while {waiting} {victim} waited for the disk.
-- advice: Move the other program to another disk or another time, or limit it (io.max or io.weight of its cgroup, ionice). Backups, imports and compactions are the usual ones.
-- ask: hot-disks
-- comparison: warn
-- explains: disk-saturated, disk-queue, disk-slow, disk-slow-stretch, io-pressure, reads-past-cache, programs-wait-disk, writes-wait-flush, flush-waits, flushes-of-small-writes, small-io, db-commit-wait, db-reads-slow, writes-throttled
-- part: commit; user I/O; system I/O; block I/O
-- impact: share of its threads' time
-- yes: sched cpus_online=4 *20
-- yes: process pid=7 comm=app cpu=5 read_bytes_per_s=0 write_bytes_per_s=400000 *20
-- yes: thread_wait pid=7 comm=app wait=flush threads=0.9 role=command *20
-- yes: process pid=9 comm=dd cpu=20 read_bytes_per_s=0 write_bytes_per_s=300000000 *20
--
-- yes: sched cpus_online=4 *20
-- yes: process pid=7 comm=postgres cpu=5 read_bytes_per_s=0 write_bytes_per_s=400000 *20
-- yes: db server=localhost samples=10 *20
-- yes: db_session server=localhost session=1 kind="client backend" activity=commit pid=7 dt=0.8 *20
-- yes: process pid=9 comm=dd cpu=20 read_bytes_per_s=0 write_bytes_per_s=300000000 *20
-- no: sched cpus_online=4 *20
-- no: process pid=7 comm=app cpu=5 read_bytes_per_s=200000000 write_bytes_per_s=0 *20
-- no: thread_wait pid=7 comm=app wait=disk threads=0.9 role=command *20
-- no: process pid=9 comm=dd cpu=1 read_bytes_per_s=0 write_bytes_per_s=20000000 *20
--
-- no: sched cpus_online=4 *20
-- no: process pid=7 comm=app cpu=90 read_bytes_per_s=0 write_bytes_per_s=0 *20
-- no: thread_wait pid=7 comm=app wait=run threads=0.9 role=command *20
-- no: process pid=9 comm=dd cpu=20 read_bytes_per_s=0 write_bytes_per_s=300000000 *20
--
-- no: sched cpus_online=4 *20
-- no: process pid=7 comm=app cpu=5 read_bytes_per_s=0 write_bytes_per_s=400000 *20
-- no: thread_wait pid=7 comm=app wait=flush threads=0.9 role=command *20
-- no: process pid=9 comm=dd cpu=20 read_bytes_per_s=0 write_bytes_per_s=300000000 *20
-- no: disk device=vda class=disk util=4 *20
--
-- no: sched cpus_online=4 *20
-- no: process pid=7 comm=app cpu=5 read_bytes_per_s=0 write_bytes_per_s=400000 *20
-- no: thread_wait pid=7 comm=app wait=flush threads=0.9 role=command *20
-- no: process pid=9 comm=logger cpu=1 read_bytes_per_s=0 write_bytes_per_s=2000000 *20
-- Two thirds of all bytes, 10 MB a second and more, by programs that are not measured; the measured one waits for a disk for two tenths
-- of a thread and a quarter of its time. A parent has the bytes of its children when they end, so that a script is listed beside what it
-- starts. That both use the same disk is not known: what it explains comes after it all the same. An idle disk makes no program wait (disk-limited).
WITH programs AS (
    SELECT w.run, w.host, 'threads of ' || arg_max(w.comm, w.threads) FILTER (w.wait IN ('disk', 'flush', 'dirty pages')) AS victim,
        coalesce(sum(w.threads) FILTER (w.wait IN ('disk', 'flush', 'dirty pages')), 0) AS waiting, sum(w.threads) FILTER (w.wait NOT IN ('poll', 'accept', 'child', 'sleep')) AS at_work
    FROM thread_wait_mean w JOIN measured_process m ON m.run = w.run AND m.host = w.host AND m.pid = w.pid
    GROUP BY w.run, w.host
), sessions AS (
    SELECT run, host, 'sessions of ' || coalesce(any_value(server), 'the server') AS victim, coalesce(sum(sessions) FILTER (class IN ('commit', 'user io', 'system io')), 0) AS waiting, sum(sessions) AS at_work
    FROM db_session_share SEMI JOIN measured_process USING (run, host) WHERE in_db_time
    GROUP BY run, host
), victims AS (
    SELECT * FROM (SELECT * FROM programs UNION ALL SELECT * FROM sessions) WHERE at_work > 0
    QUALIFY row_number() OVER (PARTITION BY run, host ORDER BY waiting / at_work DESC, waiting DESC) = 1
), moved AS (
    SELECT p.run, p.host, p.comm, sum((coalesce(p.read_bytes_per_s, 0) + coalesce(p.write_bytes_per_s, 0)) * p.dt) AS moved,
        m.measured IS NOT NULL AS is_measured
    FROM process p
    LEFT JOIN (SELECT DISTINCT run, host, pid, 1 AS measured FROM measured_process) m ON m.run = p.run AND m.host = p.host AND m.pid = p.pid
    WHERE p.comm <> 'fenxi'
    GROUP BY p.run, p.host, p.comm, m.measured
), sums AS (
    SELECT *, sum(moved) FILTER (NOT is_measured) OVER (PARTITION BY run, host) AS others, sum(moved) OVER (PARTITION BY run, host) AS all_moved FROM moved
), named AS (
    SELECT run, host, string_agg(comm, ' and ' ORDER BY moved DESC, comm) AS comm, any_value(others) AS others, any_value(all_moved) AS all_moved
    FROM sums WHERE NOT is_measured AND moved >= 0.33 * others
    GROUP BY run, host
), disks AS (
    SELECT run, host, max(util) AS util FROM (SELECT run, host, device, wmean(util, dt) AS util FROM disk GROUP BY run, host, device) GROUP BY run, host
)
SELECT o.run, o.host, o.comm, o.others / s.seen_s AS moved, 100 * o.others / o.all_moved AS of_all, steady(v.waiting) AS waiting, v.victim, 100 * v.waiting / v.at_work AS share
FROM named o
JOIN host_span s ON s.run = o.run AND s.host = o.host
JOIN victims v ON v.run = o.run AND v.host = o.host
LEFT JOIN disks d ON d.run = o.run AND d.host = o.host
WHERE coalesce(100 * least(v.waiting, 1) < 3 * d.util, true) AND o.others / s.seen_s >= 1e7 AND o.others >= 0.66 * o.all_moved AND v.waiting >= 0.2 AND v.waiting >= 0.25 * v.at_work AND s.seen_s >= 3
ORDER BY o.others DESC, o.run, o.host
