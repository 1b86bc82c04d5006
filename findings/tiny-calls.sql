-- title: A program reads or writes a few bytes at a time
-- severity: warning
-- section: process
-- message: {comm} made {calls:/s} system calls that read or wrote, of {size:B} on average, and spent {sys:%} of its {used:CPU} in the kernel.
-- advice: Buffer: each call costs a microsecond or so, whatever it carries. Larger buffers (stdio, BufReader, `bs=`), messages in batches, or writev. `fenxi trace procsystime` shows which calls.
-- ask: top-processes
-- explains: sys-time-high, context-switch-storm, one-thread-saturated, one-cpu-saturated
-- impact: sys of the CPU time
-- names: syscall
-- yes: sched cpus_online=4 *20
-- yes: process pid=7 comm=dd usr=30 sys=69 cpu=99 read_calls_per_s=900000 write_calls_per_s=900000 read_call_bytes_per_s=900000 write_call_bytes_per_s=900000 *20
-- no: sched cpus_online=4 *20
-- no: process pid=7 comm=dd usr=30 sys=69 cpu=99 read_calls_per_s=90000 write_calls_per_s=90000 read_call_bytes_per_s=368640000 write_call_bytes_per_s=368640000 *20
--
-- no: sched cpus_online=4 *20
-- no: process pid=7 comm=app usr=80 sys=10 cpu=90 read_calls_per_s=900 write_calls_per_s=900 read_call_bytes_per_s=900 write_call_bytes_per_s=900 *20
--
-- no: sched cpus_online=4 *20
-- no: process pid=7 comm=app usr=95 sys=4 cpu=99 read_calls_per_s=30000 write_calls_per_s=0 read_call_bytes_per_s=30000 write_call_bytes_per_s=0 *20
-- Fewer than 64 bytes a call, fifty thousand calls for each second of CPU time, a third of it in the kernel: a server that answers
-- small requests makes two of such calls for each, beside others.
WITH spans AS (
    SELECT run, host, sum(dt) AS seen_s FROM sched GROUP BY run, host
), programs AS (
    SELECT run, host, comm, sum(cpu * dt) AS ran, sum(sys * dt) AS in_kernel, sum((read_calls_per_s + write_calls_per_s) * dt) AS calls,
        sum((read_call_bytes_per_s + write_call_bytes_per_s) * dt) AS carried
    FROM process JOIN subject_process USING (run, host, pid, comm) GROUP BY run, host, comm
)
SELECT p.run, p.host, p.comm, p.calls / s.seen_s AS calls, p.carried / p.calls AS size, 100 * p.in_kernel / p.ran AS sys, p.ran / s.seen_s / 100 AS used
FROM programs p JOIN spans s ON s.run = p.run AND s.host = p.host
WHERE p.ran / s.seen_s >= 30 AND p.calls >= 50000 * p.ran / 100 AND p.carried < 64 * p.calls AND p.in_kernel >= 0.33 * p.ran AND s.seen_s >= 3
ORDER BY p.calls DESC, p.run, p.host, p.comm
