-- title: Was TCP healthy?
-- about: Retransmissions, time-outs, failed and reset connections, and connections dropped at a full accept queue; all of these should be near zero.
-- section: network
-- chart: line
-- x: t
-- y: retransmits_per_s, timeouts_per_s, attempt_fails_per_s, estab_resets_per_s, listen_overflows_per_s, listen_drops_per_s
-- unit: /s
-- order: 40
SELECT run, host, t, dt, retransmits_per_s, timeouts_per_s, attempt_fails_per_s, estab_resets_per_s,
    listen_overflows_per_s, listen_drops_per_s
FROM tcp
ORDER BY run, host, t
