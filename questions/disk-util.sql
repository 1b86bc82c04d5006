-- title: When were the disks busy?
-- about: Utilisation by disk: share of time with at least one request in flight; a parallel device at 100 % may not be saturated.
-- section: disk
-- chart: line
-- x: t
-- y: util
-- series: device
-- unit: %
-- order: 30
-- live: disk: util
SELECT run, host, t, dt, device, util
FROM disk
WHERE coalesce(class, 'disk') = 'disk'
ORDER BY run, host, device, t
