-- title: Threads spin for a lock and yield the CPU
-- severity: warning
-- section: cpu
-- message: {comm} spent {share:%} of its sampled CPU time in sched_yield, {yields} of {samples} samples: its threads look for something again and again instead of sleeping until it is there.
-- advice: Use a lock that sleeps (a mutex or a condition variable, which are futexes), hold it for less time, or run no more of these threads than CPUs. Spinning pays only where a lock is held for less than a switch takes, by a thread that runs.
-- ask: top-stacks
-- impact: share of its CPU time
-- yes: stack comm=app event=on-cpu stack="main;work;sched_yield;do_syscall_64_[k];__x64_sys_sched_yield_[k]" samples=20 *3
-- yes: stack comm=app event=on-cpu stack="main;work" samples=30 *3
-- no: stack comm=app event=on-cpu stack="main;work;sched_yield;do_syscall_64_[k];__x64_sys_sched_yield_[k]" samples=2 *3
-- no: stack comm=app event=on-cpu stack="main;work" samples=48 *3
--
-- no: stack comm=app event=on-cpu stack="main;work;sched_yield;do_syscall_64_[k];__x64_sys_sched_yield_[k]" samples=9
-- no: stack comm=app event=on-cpu stack="main;work" samples=9
--
-- no: stack comm=app event=off-cpu stack="main;work;sched_yield;do_syscall_64_[k];__x64_sys_sched_yield_[k]" samples=50 *3
--
-- yes: stack comm=app event=on-cpu stack="main;work;sched_yield;do_syscall_64_[k];__x64_sys_sched_yield_[k]" samples=8 *3
-- yes: stack comm=app event=on-cpu stack="main;work" samples=12 *3
-- yes: stack comm=cc1 event=on-cpu stack="main;fold" samples=80 *3
-- no: stack comm=app event=on-cpu stack="main;work;sched_yield;do_syscall_64_[k];__x64_sys_sched_yield_[k]" samples=4 *3
-- no: stack comm=cc1 event=on-cpu stack="main;fold" samples=196 *3
-- A fifth of what the program ran, which is a twentieth of all or more: a yield itself takes a microsecond, so that these are tens of thousands a second.
WITH programs AS (
    SELECT run, host, coalesce(comm, 'A program') AS comm, sum(share) AS of_all, sum(share) FILTER (entry = 'sched_yield') / sum(share) AS of_program,
        sum(samples) FILTER (entry = 'sched_yield') AS yields, sum(samples) AS samples
    FROM on_cpu WHERE n >= 50
    GROUP BY run, host, coalesce(comm, 'A program')
)
SELECT run, host, comm, 100 * of_program AS share, CAST(yields AS BIGINT) AS yields, CAST(samples AS BIGINT) AS samples
FROM programs
WHERE of_program >= 0.2 AND of_all >= 0.05 AND yields >= 10
ORDER BY share DESC, run, host, comm
