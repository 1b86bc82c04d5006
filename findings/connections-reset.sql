-- title: Connections end by a reset
-- severity: warning
-- section: network
-- message: {resets:/s} of {opens:/s} connections that were accepted ended by a reset, not by a close.
-- advice: Who closes a connection before all was read resets it. Clients that time out and ask again make the server do the work several times: give them more patience than the server needs, wait longer before each retry, and let the server drop work that no client waits for. A connection for each request whose last bytes no client reads (session tickets of TLS) ends so, too: keep connections open. Harmless where a load balancer or a monitor ends its own so.
-- ask: tcp-health
-- impact: share of the connections
-- explains: connection-for-each, threads-take-turns, one-cpu-saturated, one-thread-saturated, cpu-pressure, cpu-queue
-- yes: tcp passive_opens_per_s=60 estab_resets_per_s=45 out_resets_per_s=45 *20
-- no: tcp passive_opens_per_s=60 estab_resets_per_s=2 out_resets_per_s=2 *20
--
-- no: tcp passive_opens_per_s=2 estab_resets_per_s=1 out_resets_per_s=1 *20
--
-- no: tcp passive_opens_per_s=60 *20
--
-- no: tcp passive_opens_per_s=0 estab_resets_per_s=0 out_resets_per_s=45 attempt_fails_per_s=45 *20
-- Three of ten, and five a second: some are reset everywhere. A connection that is refused was never accepted.
WITH hosts AS (
    SELECT run, host, wmean(passive_opens_per_s, dt) AS opens, wmean(estab_resets_per_s, dt) AS resets, sum(dt) AS seen_s FROM tcp GROUP BY run, host
)
SELECT run, host, resets, opens, least(100, 100 * resets / opens) AS share
FROM hosts
WHERE resets >= 5 AND resets >= 0.3 * opens AND opens >= 5 AND seen_s >= 3
ORDER BY resets DESC, run, host
