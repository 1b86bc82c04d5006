-- title: Connections are refused, and tried again
-- severity: warning
-- section: network
-- message: {fails:/s} attempts to connect failed, {share:%} of those that were made.
-- advice: No process listens there, or a firewall refuses: a service that is down, a wrong port or host, a list of servers with a dead one. See which with `fenxi trace` of connects or `ss -tn state syn-sent`; let clients wait longer before each retry.
-- ask: tcp-connections
-- impact: share of the attempts
-- yes: tcp active_opens_per_s=50 attempt_fails_per_s=30 out_resets_per_s=30 *20
-- no: tcp active_opens_per_s=500 attempt_fails_per_s=30 *20
--
-- no: tcp active_opens_per_s=3 attempt_fails_per_s=2 *20
--
-- no: tcp active_opens_per_s=50 attempt_fails_per_s=30 *2
-- no: tcp active_opens_per_s=50 attempt_fails_per_s=0 *28 @2
-- A fifth of the attempts, and five a second over all of the time: a health check of a server that is down is less.
WITH hosts AS (
    SELECT run, host, wmean(attempt_fails_per_s, dt) AS fails, wmean(active_opens_per_s, dt) AS opens, sum(dt) AS seen_s FROM tcp GROUP BY run, host
)
SELECT run, host, fails, least(100, 100 * fails / greatest(opens, fails)) AS share
FROM hosts
WHERE fails >= 5 AND fails >= 0.2 * opens AND seen_s >= 3
ORDER BY fails DESC, run, host
