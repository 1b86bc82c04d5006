-- title: TCP retransmits many segments
-- severity: warning
-- section: network
-- message: {resent} of {sent} segments were retransmitted{place} ({share:%}).
-- advice: Look for packet loss on the path (errors and drops of interfaces at both ends), for a saturated link, or for a slow receiver.
-- ask: tcp-health
-- explains: waits-for-peer, sends-wait
-- impact: share of the segments
-- yes: tcp out_segments_per_s=2000 retransmits_per_s=60 *30
--
-- yes: netns namespace=4026532300 comm=nginx out_segments_per_s=2000 retransmits_per_s=60 *30
-- no: tcp out_segments_per_s=2000 retransmits_per_s=1 *30
--
-- no: tcp out_segments_per_s=2 retransmits_per_s=0.5 *30
--
-- no: tcp out_segments_per_s=20000 retransmits_per_s=60 *30
--
-- yes: tcp out_segments_per_s=2000 retransmits_per_s=60 *30
-- yes: process pid=7 comm=app cpu=10 *30
-- yes: thread_wait pid=7 comm=app wait=send function=sk_stream_wait_memory threads=1 role=command *30
-- Each costs its connection a round trip, or a timer of 200 ms and more: applications feel half a percent. Twenty, so that the share
-- means something. Where the recorder started a command that waited for a peer hardly ever, it is what others had: a fact.
WITH hosts AS (
    SELECT run, host, place, sum(retransmits_per_s * dt) AS again, sum(out_segments_per_s * dt) AS total FROM tcp_space GROUP BY run, host, namespace, place
)
SELECT h.run, h.host, CAST(round(again) AS BIGINT) AS resent, CAST(round(total) AS BIGINT) AS sent, 100 * again / nullif(total, 0) AS share, place,
    CASE WHEN m.network < 2 THEN 'info' ELSE 'warning' END AS severity
FROM hosts h LEFT JOIN measured_wait m ON m.run = h.run AND m.host = h.host
WHERE again >= 20 AND again >= 0.005 * total
ORDER BY share DESC, h.run, h.host
