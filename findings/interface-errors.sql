-- title: A network interface loses packets
-- severity: warning
-- section: network
-- message: {interface} lost {lost:packet|packets} ({lost_share:%} of all): {damaged} damaged, {dropped} dropped.
-- advice: Damaged packets point at cable, optics or duplex; drops at buffers that are too small or a CPU that is too slow (see ethtool -S). Drops of protocols without a listener are harmless.
-- ask: net-errors
-- yes: net interface=eth0 class=physical rx_packets_per_s=1000 tx_packets_per_s=1000 rx_drops_per_s=5 rx_errors_per_s=1 *30
-- no: net interface=eth0 class=physical rx_packets_per_s=1000 tx_packets_per_s=1000 rx_drops_per_s=0 rx_errors_per_s=0 *30
--
-- no: net interface=eth0 class=physical rx_packets_per_s=100000 tx_packets_per_s=100000 rx_drops_per_s=0.5 *30
-- One in ten thousand is where TCP's throughput over distance begins to fall; a handful over a run means little.
WITH interfaces AS (
    SELECT run, host, interface,
        sum((coalesce(rx_errors_per_s, 0) + coalesce(tx_errors_per_s, 0)) * dt) AS damaged,
        sum((coalesce(rx_drops_per_s, 0) + coalesce(tx_drops_per_s, 0)) * dt) AS dropped,
        sum((coalesce(rx_packets_per_s, 0) + coalesce(tx_packets_per_s, 0)) * dt) AS packets
    FROM net
    WHERE coalesce(class, 'physical') <> 'loopback'
    GROUP BY run, host, interface
), totals AS (
    SELECT *, damaged + dropped AS total FROM interfaces
)
SELECT run, host, interface, CAST(round(total) AS BIGINT) AS lost, 100 * total / nullif(packets + total, 0) AS lost_share,
    CAST(round(damaged) AS BIGINT) AS damaged, CAST(round(dropped) AS BIGINT) AS dropped
FROM totals
WHERE total >= 10 AND total >= 0.0001 * packets
ORDER BY total DESC, run, host, interface
