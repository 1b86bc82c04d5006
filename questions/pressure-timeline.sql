-- title: Which resource did tasks stall on?
-- about: Pressure stall information (PSI): share of time in which some task, or all tasks at once (full), stalled for lack of CPU, memory or I/O.
-- section: cpu
-- chart: line
-- x: t
-- y: some, full
-- series: resource
-- unit: %
-- order: 65
-- live: pressure: some, full
SELECT run, host, t, dt, resource, p.some, p.full
FROM pressure p
ORDER BY run, host, resource, t
