-- title: Which softirqs ran?
-- about: Softirqs per second by kind over all CPUs; NET_RX is network receive, BLOCK block completions, SCHED and RCU the kernel's own.
-- section: interrupt
-- chart: line
-- x: t
-- y: softirqs_per_s
-- series: softirq
-- unit: /s
-- order: 30
-- live: softirq: softirqs_per_s
SELECT run, host, t, max(dt) AS dt, softirq, sum(softirqs_per_s) AS softirqs_per_s
FROM softirq
GROUP BY run, host, t, softirq
ORDER BY run, host, softirq, t
