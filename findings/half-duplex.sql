-- title: A link runs at half duplex
-- severity: warning
-- section: network
-- message: {interface} runs at half duplex and {speed:Mbit/s}.
-- advice: Usually one end auto-negotiates and the other does not: enable auto-negotiation on both. Otherwise expect collisions and a fraction of the speed.
-- ask: busiest-interfaces
-- yes: net interface=eth0 class=physical duplex=half speed_mbps=100 rx_packets_per_s=10 *3
-- no: net interface=eth0 class=physical duplex=full speed_mbps=1000 rx_packets_per_s=10 *3
-- No switched network has half duplex on purpose; interfaces without traffic are ignored.
SELECT run, host, interface, max(speed_mbps) AS speed
FROM net
WHERE duplex = 'half'
GROUP BY run, host, interface
HAVING max(coalesce(rx_packets_per_s, 0) + coalesce(tx_packets_per_s, 0)) > 0 AND max(speed_mbps) IS NOT NULL
ORDER BY run, host, interface
