-- title: A GPU idles while one thread of the host is full
-- severity: warning
-- section: gpu
-- message: {name} was in use {util:%} of the time, while {of_thread}{comm} (process {pid}), which uses it, was full for {full_s:s} of {seen_s:s}.
-- advice: The program on the host does not feed the GPU: a profile shows with what it is busy (fenxi trace profile). Common: one Python thread that prepares data or launches small kernels; more loader processes, larger batches, CUDA graphs. Copies and synchronisation in a loop look the same.
-- ask: gpu-processes
-- world: gpu
-- impact: full_s / seen_s of the time
-- names: function
-- yes: gpu gpu=0 util=22 *20
-- yes: gpu_process gpu=0 pid=7 comm=python3 memory_bytes=2e10 util=20 *20
-- yes: process pid=7 comm=python3 cpu=99 threads=60 *20
--
-- yes: gpu gpu=0 util=22 *20
-- yes: gpu_process gpu=0 pid=7 comm=python3 memory_bytes=2e10 *20
-- yes: process pid=7 comm=python3 cpu=240 threads=60 *20
-- yes: thread pid=7 tid=9 comm=loader cpu=98 *20
-- no: gpu gpu=0 util=93 *20
-- no: gpu_process gpu=0 pid=7 comm=python3 memory_bytes=2e10 util=90 *20
-- no: process pid=7 comm=python3 cpu=99 threads=60 *20
--
-- no: gpu gpu=0 util=5 *20
-- no: gpu_process gpu=0 pid=7 comm=vllm memory_bytes=2e10 util=5 *20
-- no: process pid=7 comm=vllm cpu=12 threads=60 *20
--
-- no: gpu gpu=0 util=5 *20
-- no: gpu_process gpu=0 pid=8 comm=Xorg memory_bytes=2e8 *20
-- no: process pid=7 comm=gzip cpu=100 threads=1 *20
--
-- no: gpu gpu=0 util=5 *20
-- no: gpu_process gpu=0 pid=7 comm=python3 memory_bytes=2e10 *20
-- no: process pid=7 comm=python3 cpu=600 threads=60 *20
--
-- no: gpu gpu=0 util=0 *20
-- no: gpu_process gpu=0 pid=7 comm=python3 memory_bytes=2e10 util=0 *1
-- no: process pid=7 comm=python3 cpu=100 threads=60 *20
-- Half of the time, and three seconds. Where threads were not recorded, a process that uses 90 to 130 % of a CPU has one full thread and little besides. Who computes on many
-- CPUs while the GPU waits is full for a different reason. The GPU is in use for less than half of the time; an instance (MIG) has no such figure, its multiprocessors have.
WITH used AS (
    SELECT run, host, gpu, instance, max(model) AS model, wmean(coalesce(util, sm_active), coalesce(dt, 1)) AS util, sum(coalesce(dt, 1)) AS seen_s
    FROM gpu WHERE coalesce(util, sm_active) IS NOT NULL
    GROUP BY run, host, gpu, instance
), users AS (
    SELECT run, host, gpu, instance, pid, arg_max(comm, t) AS comm, sum(coalesce(dt, 1)) AS there_s FROM gpu_process GROUP BY run, host, gpu, instance, pid
), one AS (
    SELECT run, host, pid, sum(CASE WHEN cpu >= 95 THEN dt ELSE 0 END) AS full_s, 'thread ' || max(comm) || ' of ' AS of_thread FROM thread GROUP BY run, host, pid, tid
    UNION ALL
    SELECT run, host, pid, sum(CASE WHEN cpu BETWEEN 90 AND 130 THEN dt ELSE 0 END), 'one thread of ' FROM process ANTI JOIN thread USING (run, host, pid) GROUP BY run, host, pid
), fullest AS (
    SELECT run, host, pid, full_s, of_thread FROM one
    QUALIFY row_number() OVER (PARTITION BY run, host, pid ORDER BY full_s DESC, of_thread) = 1
)
SELECT g.run, g.host, 'GPU ' || g.gpu || coalesce('.' || g.instance, '') || coalesce(' (' || g.model || ')', '') AS name, g.util, f.of_thread, u.comm, u.pid, f.full_s, g.seen_s
FROM used g
JOIN users u ON u.run = g.run AND u.host = g.host AND u.gpu = g.gpu AND u.instance IS NOT DISTINCT FROM g.instance
JOIN fullest f ON f.run = u.run AND f.host = u.host AND f.pid = u.pid
WHERE g.util < 50 AND f.full_s >= 0.5 * g.seen_s AND f.full_s >= 3 AND u.there_s >= 0.5 * g.seen_s
ORDER BY f.full_s DESC, g.run, g.host, g.gpu, g.instance, u.pid
