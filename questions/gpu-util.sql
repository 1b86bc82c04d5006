-- title: When were the GPUs busy?
-- about: Share of time in which something ran on each GPU, share of cycles in which its multiprocessors and its memory worked, and of the time in which its power limit or heat held its clocks down.
-- section: gpu
-- chart: line
-- x: t
-- y: util, sm_active, dram_active, throttled_power, throttled_heat
-- series: gpu
-- unit: %
-- order: 30
-- live: gpu: util, sm_active, dram_active, throttled_power, throttled_heat
SELECT run, host, t, dt, gpu || coalesce('.' || instance, '') AS gpu, util, sm_active, dram_active, throttled_power, throttled_heat
FROM gpu
ORDER BY run, host, gpu, instance, t
