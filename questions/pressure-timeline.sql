-- title: Which resource did tasks wait for?
-- about: Share of time in which some task, or all tasks at once (full), stood still for want of CPU, memory or I/O.
-- section: cpu
-- chart: line
-- x: t
-- y: some, full
-- series: resource
-- unit: %
-- order: 65
SELECT run, host, t, dt, resource, p.some, p.full
FROM pressure p
ORDER BY run, host, resource, t
