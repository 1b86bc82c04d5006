-- title: Which interfaces were busy?
-- about: Interfaces by traffic, with packets, mean packet size, utilisation where the link's speed is known, and saturation (errors, drops, overruns).
-- section: network
-- chart: table
-- order: 10
-- param: n = 10, how many interfaces to show
WITH per_interface AS (
    SELECT run, host, interface, min(class) AS class, wmean(rx_bytes_per_s, dt) AS rx_bytes_per_s,
        wmean(tx_bytes_per_s, dt) AS tx_bytes_per_s, wmean(rx_packets_per_s, dt) AS rx_packets_per_s,
        wmean(tx_packets_per_s, dt) AS tx_packets_per_s,
        wmean(util, dt) AS mean_util, max(util) AS max_util, wmean(saturation_per_s, dt) AS saturation_per_s,
        max(speed_mbps) AS speed_mbps
    FROM net
    GROUP BY run, host, interface
), placed AS (
    SELECT *, row_number() OVER (PARTITION BY run, host
        ORDER BY coalesce(rx_bytes_per_s, 0) + coalesce(tx_bytes_per_s, 0) DESC, interface) AS place
    FROM per_interface
)
SELECT run, host, interface, class, rx_bytes_per_s, tx_bytes_per_s, rx_packets_per_s, tx_packets_per_s,
    rx_bytes_per_s / nullif(rx_packets_per_s, 0) AS rx_packet_bytes,
    tx_bytes_per_s / nullif(tx_packets_per_s, 0) AS tx_packet_bytes,
    mean_util, max_util, saturation_per_s, speed_mbps
FROM placed
WHERE place <= $n
ORDER BY run, host, place
