-- title: How many TCP connections were opened?
-- about: Active and passive opens per second; many short connections cost more than a few long ones.
-- section: network
-- chart: line
-- x: t
-- y: active_opens_per_s, passive_opens_per_s
-- unit: /s
-- order: 50
SELECT run, host, t, dt, active_opens_per_s, passive_opens_per_s
FROM tcp
ORDER BY run, host, t
