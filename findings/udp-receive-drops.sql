-- title: UDP receive buffers overflow
-- severity: warning
-- section: network
-- says: {n} datagrams were dropped because the receiving socket's buffer was full.
-- advice: The program reads too slowly or in bursts: enlarge its buffer (SO_RCVBUF, net.core.rmem_max), or read with more threads.
-- ask: net-errors
-- yes: udp receive_buffer_errors_per_s=5 *30
-- no: udp receive_buffer_errors_per_s=0 *30
-- Nothing sends a lost datagram again by itself; ten are more than an accident at the start.
SELECT run, host, CAST(round(sum(receive_buffer_errors_per_s * dt)) AS BIGINT) AS n
FROM udp
GROUP BY run, host
HAVING sum(receive_buffer_errors_per_s * dt) >= 10
ORDER BY n DESC, run, host
