-- title: UDP receive buffers overflow
-- severity: warning
-- section: network
-- message: {n:datagram was|datagrams were} dropped because the receiving socket's buffer was full{place}.
-- advice: The program reads too slowly or in bursts: enlarge its buffer (SO_RCVBUF, net.core.rmem_max), or read with more threads.
-- ask: net-errors
-- yes: udp receive_buffer_errors_per_s=5 *30
--
-- yes: netns namespace=4026532300 comm=resolver receive_buffer_errors_per_s=5 *30
-- no: udp receive_buffer_errors_per_s=0 *30
-- Nothing sends a lost datagram again by itself; ten are more than an accident at the start.
WITH spaces AS (
    SELECT run, host, NULL AS namespace, '' AS place, dt, receive_buffer_errors_per_s FROM udp
    UNION ALL
    SELECT run, host, namespace, ' in the network namespace of ' || comm, dt, receive_buffer_errors_per_s FROM netns
)
SELECT run, host, CAST(round(sum(receive_buffer_errors_per_s * dt)) AS BIGINT) AS n, place
FROM spaces
GROUP BY run, host, namespace, place
HAVING sum(receive_buffer_errors_per_s * dt) >= 10
ORDER BY n DESC, run, host
