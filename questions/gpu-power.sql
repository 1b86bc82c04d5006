-- title: What power did the GPUs draw?
-- about: Power of each GPU, as mean of each interval where its driver counts energy; the energy of the run is in the answer of `gpus`.
-- section: gpu
-- chart: line
-- x: t
-- y: power_w
-- series: gpu
-- unit: W
-- order: 40
-- live: gpu: power_w
SELECT run, host, t, dt, gpu, power_w
FROM gpu
WHERE power_w IS NOT NULL
ORDER BY run, host, gpu, t
