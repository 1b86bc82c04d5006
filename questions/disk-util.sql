-- title: When were the disks busy?
-- about: Share of time with at least one request in flight, by disk; a device that serves many requests at once can do more at 100 %.
-- section: disk
-- chart: line
-- x: t
-- y: util
-- series: device
-- unit: %
-- order: 30
SELECT run, host, t, dt, device, util
FROM disk
WHERE coalesce(class, 'disk') = 'disk'
ORDER BY run, host, device, t
