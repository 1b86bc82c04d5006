-- title: A program spends its CPU time on page faults
-- severity: warning
-- section: memory
-- message: {comm} took {faults:/s} minor page faults and spent {sys:%} of its {used:CPU} in the kernel.
-- advice: It asks for memory, uses it once and gives it back. Keep buffers, let malloc keep them (M_TRIM_THRESHOLD, M_MMAP_THRESHOLD; another allocator), or use huge pages. Normal while a large program starts.
-- ask: top-processes
-- explains: sys-time-high, one-thread-saturated, one-cpu-saturated
-- impact: sys of the CPU time
-- yes: sched cpus_online=4 *20
-- yes: process pid=7 comm=app usr=20 sys=70 cpu=90 minor_faults_per_s=500000 *20
-- no: sched cpus_online=4 *20
-- no: process pid=7 comm=app usr=70 sys=20 cpu=90 minor_faults_per_s=40000 *20
--
-- no: sched cpus_online=4 *20
-- no: process pid=7 comm=app usr=20 sys=70 cpu=90 minor_faults_per_s=500000 *2
--
-- no: sched cpus_online=4 *20
-- no: process pid=7 comm=app usr=80 sys=10 cpu=90 minor_faults_per_s=500000 *20
-- A hundred thousand for each second of its CPU time, half of which is in the kernel: a fault with a page to clear takes a microsecond,
-- and some in a virtual machine. What starts many processes faults as well: that is another finding.
WITH spans AS (
    SELECT run, host, sum(dt) AS seen_s FROM sched GROUP BY run, host
), programs AS (
    SELECT run, host, comm, sum(cpu * dt) AS ran, sum(sys * dt) AS in_kernel, sum(minor_faults_per_s * dt) AS faults
    FROM process JOIN subject_process USING (run, host, pid, comm) GROUP BY run, host, comm
)
SELECT p.run, p.host, p.comm, p.faults / s.seen_s AS faults, 100 * p.in_kernel / p.ran AS sys, p.ran / s.seen_s / 100 AS used
FROM programs p JOIN spans s ON s.run = p.run AND s.host = p.host
WHERE p.ran / s.seen_s >= 20 AND p.faults >= 1000 * p.ran AND p.in_kernel >= 0.5 * p.ran AND s.seen_s >= 3
ORDER BY p.faults DESC, p.run, p.host, p.comm
