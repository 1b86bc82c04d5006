-- Samples of what ran on CPUs: in which function (`leaf`, the innermost frame), in the program or in the kernel (`side`; NULL where the frames of
-- the run do not tell the two apart), and by what the kernel was entered (`entry`: a system call by its name, `page fault`, `interrupt`,
-- `kernel thread`). Of several events in a run it is the one with most samples. `share` is of all of these in the run and host, by time where that
-- is known, as two profiles of one run may sample at different rates; `n` is how many samples there are in all.
WITH events AS (
    SELECT run, host, coalesce(event, 'on-cpu') AS event, sum(samples) AS n, count(*) = count(time_s) AS is_timed, sum(time_s) AS time_s,
        max(CASE WHEN contains(stack, '_[k]') THEN 1 ELSE 0 END) = 1 AS is_marked
    FROM stack
    WHERE coalesce(event, 'on-cpu') NOT IN ('off-cpu', 'wakeup') AND samples > 0
    GROUP BY run, host, coalesce(event, 'on-cpu')
), most AS (
    SELECT * FROM events QUALIFY row_number() OVER (PARTITION BY run, host ORDER BY n DESC, event) = 1
), frames AS (
    SELECT s.run, s.host, s.t, s.dt, s.comm, s.samples, m.event, m.n, m.is_marked, s.stack,
        CASE WHEN m.is_timed AND m.time_s > 0 THEN s.time_s / m.time_s ELSE s.samples / m.n END AS share, regexp_extract(s.stack, '[^;]*$') AS last
    FROM stack s JOIN most m ON m.run = s.run AND m.host = s.host AND m.event = coalesce(s.event, 'on-cpu')
    WHERE s.samples > 0
), sides AS (
    SELECT *, CASE WHEN NOT is_marked THEN NULL WHEN regexp_matches(last, '_\[k\]$') THEN 'kernel' ELSE 'user' END AS side,
        regexp_extract(stack, '(^|;)__(x64|arm64|ia32|se|do)_(compat_)?sys_([a-z0-9_]*[a-z0-9])_\[k\]', 4) AS call,
        regexp_extract(stack, '(^|;)ksys_([a-z0-9_]*[a-z0-9])_\[k\]', 2) AS inner_call
    FROM frames
)
SELECT run, host, t, dt, comm, event, side, samples, share, n,
    regexp_replace(regexp_replace(last, '_\[k\]$', ''), '\.(isra|part|constprop|cold|llvm)\..*$', '') AS leaf,
    CASE WHEN side = 'user' OR side IS NULL THEN NULL WHEN call <> '' THEN call WHEN inner_call <> '' THEN inner_call
        WHEN contains(stack, 'page_fault_[k]') OR contains(stack, 'el0_da_[k]') THEN 'page fault'
        WHEN regexp_matches(stack, '(^|;)(asm_sysvec_|asm_common_interrupt|common_interrupt|el[01]h?_64_irq)') THEN 'interrupt'
        WHEN contains(stack, 'ret_from_fork') THEN 'kernel thread' END AS entry
FROM sides
