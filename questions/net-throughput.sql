-- title: How much went over the network?
-- about: Bytes per second received and sent by the interfaces with the most traffic; one packet can count on several stacked interfaces.
-- section: network
-- chart: line
-- x: t
-- y: rx_bytes_per_s, tx_bytes_per_s
-- series: interface
-- unit: B/s
-- order: 20
-- live: net: rx_bytes_per_s, tx_bytes_per_s
-- param: n = 6, how many interfaces to show
WITH most AS (
    SELECT run, host, interface,
        row_number() OVER (PARTITION BY run, host
            ORDER BY sum((coalesce(rx_bytes_per_s, 0) + coalesce(tx_bytes_per_s, 0)) * dt) DESC, interface) AS place
    FROM net
    GROUP BY run, host, interface
)
SELECT run, host, t, dt, interface, rx_bytes_per_s, tx_bytes_per_s
FROM net JOIN most USING (run, host, interface)
WHERE place <= $n
ORDER BY run, host, interface, t
