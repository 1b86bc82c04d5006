-- title: How many TCP connections came and went?
-- about: Connections opened from here and accepted here per second; many short ones cost more than few long ones.
-- section: network
-- chart: line
-- x: t
-- y: active_opens_per_s, passive_opens_per_s
-- unit: /s
-- order: 50
SELECT run, host, t, dt, active_opens_per_s, passive_opens_per_s
FROM tcp
ORDER BY run, host, t
