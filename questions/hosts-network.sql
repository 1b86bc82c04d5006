-- title: What did each host send and receive, seen from both ends?
-- about: Physical and virtual interfaces of each host without loopback: mean bytes and packets per second, errors and drops, and TCP segments sent again. What one host sends its peers should receive; where less arrives, something between them drops it.
-- section: network
-- chart: table
-- order: 22
WITH links AS (
    SELECT run, host, interface, wmean(rx_bytes_per_s, dt) AS rx, wmean(tx_bytes_per_s, dt) AS tx,
        wmean(rx_packets_per_s, dt) AS rx_packets, wmean(tx_packets_per_s, dt) AS tx_packets,
        wmean(rx_drops_per_s, dt) AS rx_drops, wmean(tx_drops_per_s, dt) AS tx_drops
    FROM net
    WHERE coalesce(class, 'physical') <> 'loopback'
    GROUP BY run, host, interface
), again AS (
    SELECT run, host, wmean(retransmit, dt) AS retransmit FROM tcp GROUP BY run, host
)
SELECT run, host, interface, rx AS rx_bytes_per_s, tx AS tx_bytes_per_s, rx_packets AS rx_packets_per_s, tx_packets AS tx_packets_per_s,
    rx_drops AS rx_drops_per_s, tx_drops AS tx_drops_per_s, retransmit
FROM links LEFT JOIN again USING (run, host)
WHERE run IN (SELECT run FROM net GROUP BY run HAVING count(DISTINCT host) > 1) AND coalesce(rx, 0) + coalesce(tx, 0) > 0
ORDER BY run, host, rx + tx DESC, interface
