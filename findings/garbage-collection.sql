-- title: A runtime collects garbage much of the time
-- severity: warning
-- section: process
-- message: The garbage collector of {comm} (process {pid}) used {used:CPU}, {share:%} of the program's CPU time.
-- advice: The heap is small for what is alive, or much is made and thrown away: a larger heap (-Xmx, DOTNET_GCHeapHardLimit) costs memory and fewer collections; see what allocates with the runtime's own profiler. Threads of the program stand still while some collectors work.
-- ask: top-processes
-- impact: share of the program's CPU time
-- explains: one-cpu-saturated, one-thread-saturated, threads-take-turns, context-switch-storm, cpu-pressure, cpu-queue
-- yes: process pid=7 comm=java cpu=150 threads=20 *20
-- yes: thread pid=7 tid=7 comm=java cpu=60 *20
-- yes: thread pid=7 tid=8 comm="GC Thread#0" cpu=50 *20
-- yes: thread pid=7 tid=9 comm="VM Thread" cpu=40 *20
-- no: process pid=7 comm=java cpu=150 threads=20 *20
-- no: thread pid=7 tid=7 comm=java cpu=145 *20
-- no: thread pid=7 tid=8 comm="GC Thread#0" cpu=5 *20
--
-- no: process pid=7 comm=gcc cpu=95 threads=1 *20
-- no: thread pid=7 tid=7 comm=gcc cpu=95 *20
--
-- no: process pid=7 comm=java cpu=12 threads=20 *20
-- no: thread pid=7 tid=8 comm="GC Thread#0" cpu=8 *20
-- By the names that runtimes give their collectors: HotSpot (GC Thread, G1, ZGC, Shenandoah; with the serial one the VM Thread does it) and .NET.
-- A quarter of the program's CPU time and a fifth of a CPU.
WITH programs AS (
    SELECT run, host, pid, arg_max(comm, cpu) AS comm, sum(cpu * dt) AS ran FROM process JOIN subject_process USING (run, host, pid, comm) GROUP BY run, host, pid
), spans AS (
    SELECT run, host, sum(dt) AS seen_s FROM (SELECT DISTINCT run, host, t, dt FROM process) GROUP BY run, host
), collectors AS (
    SELECT run, host, pid, sum(cpu * dt) AS ran FROM thread
    WHERE regexp_matches(comm, '^(GC Thread#|GC task thread|ParGC|G1 |VM Thread|Concurrent Mark|CMS |ZDriver|ZWorker|ZDirector|XWorker|XDriver|Shenandoah|\.NET Server GC|\.NET BGC|\.NET BG GC)')
    GROUP BY run, host, pid
)
SELECT p.run, p.host, p.comm, p.pid, c.ran / s.seen_s / 100 AS used, least(100, 100 * c.ran / p.ran) AS share
FROM programs p JOIN collectors c ON c.run = p.run AND c.host = p.host AND c.pid = p.pid JOIN spans s ON s.run = p.run AND s.host = p.host
WHERE c.ran >= 0.25 * p.ran AND c.ran >= 20 * s.seen_s AND s.seen_s >= 3
ORDER BY used DESC, p.run, p.host, p.pid
