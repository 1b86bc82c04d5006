-- title: A network interface is near line rate
-- severity: warning
-- section: network
-- message: {interface} was at least 80 % utilised for {full_s:s} of {seen_s:s} ([speed {speed:Mbit/s}, ]maximum {most:%}).
-- advice: Packets queue in the host or are dropped on the way. Transfer less, compress, or use a faster link or a second one.
-- ask: net-throughput
-- impact: full_s / seen_s of the time
-- yes: net interface=eth0 class=physical util=94 speed_mbps=1000 *30
-- yes: net interface=nxge0 class=physical util=94 *30
-- no: net interface=eth0 class=physical util=30 speed_mbps=1000 *30
--
-- no: net interface=eth0 class=physical util=99 speed_mbps=1000 *1
-- no: net interface=eth0 class=physical util=2 speed_mbps=1000 *29 @1
--
-- no: net interface=eth0 class=physical rx_bytes_per_s=1e9 *30
-- Beyond 80 % in a mean over a second there were moments at 100 %, in which packets waited. A tenth of the run.
SELECT run, host, interface, sum(CASE WHEN util >= 80 THEN dt ELSE 0 END) AS full_s, sum(dt) AS seen_s, max(util) AS most, max(speed_mbps) AS speed
FROM net
WHERE coalesce(class, 'physical') <> 'loopback'
GROUP BY run, host, interface
HAVING sum(CASE WHEN util >= 80 THEN dt ELSE 0 END) >= greatest(3, 0.1 * sum(dt))
ORDER BY full_s DESC, run, host, interface
