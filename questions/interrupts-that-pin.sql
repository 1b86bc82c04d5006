-- title: Which interrupts stole CPU time from which processes?
-- about: Interrupts by the CPU time stolen from threads, with the run-queue latency that followed; `self` is a softirq raised by the thread itself. A fence (fenxi fence) keeps the others away.
-- section: interrupt
-- chart: table
-- order: 40
-- param: n = 30, how many to show
SELECT run, pin.host, driver, class, comm, pid, sum(events) AS interruptions, sum(pinned_s) AS pinned_s,
    1e6 * sum(pinned_s) / nullif(sum(events), 0) AS mean_us, 100 * sum(pinned_s) / nullif(max(duration_s), 0) AS cpu_pct,
    sum(run_queue_wait_s) AS run_queue_wait_s
FROM pin JOIN runs USING (run)
WHERE driver IS NOT NULL AND coalesce(pid, -1) <> 0
GROUP BY run, pin.host, driver, class, comm, pid
ORDER BY run, pinned_s DESC NULLS LAST, interruptions DESC NULLS LAST
LIMIT $n
