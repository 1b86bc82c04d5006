-- title: Requests wait for delayed acknowledgements
-- severity: warning
-- section: network
-- message: {delayed:/s} segments were acknowledged only when a timer ran out (some 40 ms), {share:%} of those received{place}.
-- advice: One side sends a message in small pieces and waits for the acknowledgement of the first (Nagle's algorithm), the other waits for more to send it along. Write each message at once (writev, buffering), or set TCP_NODELAY on the sender.
-- ask: tcp-health
-- explains: waits-for-peer
-- yes: tcp delayed_acks_per_s=22 in_segments_per_s=90 *20
--
-- yes: netns namespace=4026532300 comm=app delayed_acks_per_s=22 in_segments_per_s=90 *20
-- no: tcp delayed_acks_per_s=22 in_segments_per_s=9000 *20
--
-- no: tcp delayed_acks_per_s=2 in_segments_per_s=10 *20
--
-- no: tcp in_segments_per_s=9000 *20
--
-- yes: tcp delayed_acks_per_s=22 in_segments_per_s=90 *20
-- yes: process pid=7 comm=app cpu=10 *20
-- yes: thread_wait pid=7 comm=app wait=receive function=wait_woken threads=1 role=command *20
-- no: tcp delayed_acks_per_s=22 in_segments_per_s=90 *20
-- no: load generator=pgbench transactions_per_s=22 latency_mean_ms=1.5 *20
--
-- yes: tcp delayed_acks_per_s=22 in_segments_per_s=90 *20
-- yes: load generator=pgbench transactions_per_s=22 latency_mean_ms=42 *20
--
-- no: tcp delayed_acks_per_s=161 in_segments_per_s=1000 *20
-- no: load generator=g transactions_per_s=192 latency_mean_ms=9.3 latency_p95_ms=9.4 latency_p99_ms=9.6 *20
--
-- no: tcp delayed_acks_per_s=84 in_segments_per_s=420 *20
-- no: load generator=g transactions_per_s=150 latency_mean_ms=53 *20
-- no: db server=localhost active_sessions=7.5 *20
--
-- no: tcp delayed_acks_per_s=84 in_segments_per_s=420 *20
-- no: load generator=g transactions_per_s=150 latency_mean_ms=53 *20
-- no: db server=localhost active_sessions=1 *20
-- no: db_pool server=localhost database=threads clients_waiting=6.5 wait_time=6.5 *20
-- A connection that exchanges messages acknowledges with the answer. Ten a second and a twentieth of all segments are more than what
-- connections leave that fall silent. A client that pauses after an answer acknowledges it late, and no one waits for that: where the latency of a load is known, it holds such a
-- timer, of at least 40 ms, for one of the transactions in ten or so; where hardly any takes as long as the timer, none does. A request that a database works on, or keeps in a queue, for longer than the timer is acknowledged late, too, and harmed by nothing. Where the recorder started a command that waited for a peer hardly ever, it is what others had: a
-- fact.
WITH hosts AS (
    SELECT run, host, place, wmean(delayed_acks_per_s, dt) AS delayed, wmean(in_segments_per_s, dt) AS received, sum(dt) AS seen_s FROM tcp_space GROUP BY run, host, namespace, place
), loads AS (
    SELECT run, wmean(latency_mean_ms, dt * transactions_per_s) AS latency_ms, wmean(coalesce(latency_p99_ms, latency_p95_ms), dt * transactions_per_s) AS slow_ms, sum(transactions_per_s * dt) / sum(dt) AS transactions
    FROM load WHERE operation IS NULL AND latency_mean_ms IS NOT NULL AND transactions_per_s IS NOT NULL GROUP BY run
), pools AS (
    SELECT run, wmean(wait_time, dt) AS waiting FROM db_pool WHERE wait_time IS NOT NULL GROUP BY run
), active AS (
    SELECT run, wmean(active, dt) AS active FROM db_load GROUP BY run, host, server
), servers AS (
    SELECT a.run, max(a.active + coalesce(p.waiting, 0)) AS sessions FROM active a LEFT JOIN pools p ON p.run = a.run GROUP BY a.run
)
SELECT h.run, h.host, delayed, 100 * delayed / nullif(received, 0) AS share, place, CASE WHEN m.network < 2 THEN 'info' ELSE 'warning' END AS severity
FROM hosts h LEFT JOIN measured_wait m ON m.run = h.run AND m.host = h.host LEFT JOIN loads l ON l.run = h.run LEFT JOIN servers s ON s.run = h.run
WHERE delayed >= 10 AND delayed >= 0.05 * received AND seen_s >= 3
    AND (l.run IS NULL OR l.latency_ms >= 10 * least(1, delayed / nullif(l.transactions, 0)) AND coalesce(l.slow_ms >= 38, true))
    AND (s.sessions IS NULL OR l.run IS NULL OR 1000 * s.sessions / nullif(l.transactions, 0) < 40)
ORDER BY delayed DESC, h.run, h.host
