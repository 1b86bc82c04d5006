-- title: How much time did each driver's interrupts take?
-- about: Interrupts by driver: how many interrupted a thread and how many an idle CPU, with the time of each kind; only those that interrupt a thread cost.
-- section: interrupt
-- chart: table
-- order: 42
-- live: pin: pinned_s
-- param: n = 20, how many to show
SELECT run, host, driver, class, sum(events) FILTER (coalesce(pid, -1) <> 0) AS interruptions,
    sum(pinned_s) FILTER (coalesce(pid, -1) <> 0) AS pinned_s, sum(events) FILTER (pid = 0) AS while_idle,
    sum(pinned_s) FILTER (pid = 0) AS idle_s, sum(run_queue_wait_s) AS run_queue_wait_s
FROM pin
WHERE driver IS NOT NULL
GROUP BY run, host, driver, class
ORDER BY run, pinned_s DESC NULLS LAST, interruptions DESC NULLS LAST, driver, class
LIMIT $n
