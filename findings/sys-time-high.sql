-- title: Kernel time exceeds user time
-- severity: warning
-- section: cpu
-- message: The CPUs spent {in_sys:%} of their time in the kernel and {in_usr:%} in user code.
-- advice: Find the system calls, page faults or locks behind it: `fenxi ask syscalls`, or a kernel profile. Normal for a machine that mostly moves data, such as a router or a file server.
-- ask: cpu-time
-- kind: symptom
-- impact: in_sys of the CPUs' time
-- names: syscall, function, process
-- causes: many-forks (new processes), page-faults (page faults), tiny-calls (tiny reads and writes), kernel-spin (spinning in the kernel), direct-reclaim (reclaim of memory), context-switch-storm (context switches)
-- yes: cpu usr=25 sys=70 idle=5 *30
--
-- fact: cpu usr=20 sys=35 idle=45 *30
-- no: cpu usr=60 sys=20 idle=20 *30
--
-- no: cpu usr=1 sys=3 idle=96 *30
-- sys at or above usr is an old warning sign for server programs; below a fifth of the CPUs' time it costs little. Many small requests are
-- mostly kernel time by nature: a fact while the CPUs have room (85 %), and the kernel has less than half of them.
WITH machines AS (
    SELECT run, host, wmean(sys, dt) AS in_sys, wmean(usr + coalesce(nice, 0), dt) AS in_usr, sum(dt) AS seen_s
    FROM cpu c
    WHERE cpu IS NULL OR NOT EXISTS (SELECT 1 FROM cpu a WHERE a.run = c.run AND a.host = c.host AND a.cpu IS NULL)
    GROUP BY run, host
)
SELECT c.run, c.host, in_sys, in_usr, CASE WHEN in_sys < 50 AND m.busy < 85 THEN 'info' ELSE 'warning' END AS severity
FROM machines c LEFT JOIN cpu_mean m ON m.run = c.run AND m.host = c.host
WHERE in_sys >= in_usr AND in_sys >= 20 AND seen_s >= 3
ORDER BY in_sys DESC, c.run, c.host
