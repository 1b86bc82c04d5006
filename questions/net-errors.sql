-- title: Did the network lose packets?
-- about: Packets damaged, dropped or overrun on each interface over the whole run; interfaces without any are omitted.
-- section: network
-- chart: table
-- order: 30
WITH per_interface AS (
    SELECT run, host, interface, round(sum(rx_errors_per_s * dt)) AS rx_errors, round(sum(tx_errors_per_s * dt)) AS tx_errors,
        round(sum(rx_drops_per_s * dt)) AS rx_drops, round(sum(tx_drops_per_s * dt)) AS tx_drops,
        round(sum(rx_fifo_per_s * dt)) AS rx_fifo, round(sum(tx_fifo_per_s * dt)) AS tx_fifo,
        round(sum(frame_errors_per_s * dt)) AS frame_errors, round(sum(carrier_errors_per_s * dt)) AS carrier_errors,
        round(sum(collisions_per_s * dt)) AS collisions
    FROM net
    GROUP BY run, host, interface
)
SELECT *
FROM per_interface
WHERE coalesce(rx_errors, 0) + coalesce(tx_errors, 0) + coalesce(rx_drops, 0) + coalesce(tx_drops, 0)
    + coalesce(rx_fifo, 0) + coalesce(tx_fifo, 0) + coalesce(frame_errors, 0) + coalesce(carrier_errors, 0)
    + coalesce(collisions, 0) > 0
ORDER BY run, host, interface
