-- title: Local ports are nearly used up
-- severity: warning
-- section: network
-- message: {waiting} connections were in TIME_WAIT, of {ports} local ports that there are{place}.
-- advice: The end that closes first keeps the port for a minute, and a new connection to the same address fails when none is left (EADDRNOTAVAIL). Keep connections open, use a pool, widen net.ipv4.ip_local_port_range, or let net.ipv4.tcp_tw_reuse take them over.
-- ask: tcp-connections
-- explains: connection-for-each, program-sleeps
-- yes: tcp time_wait=27000 active_opens_per_s=500 *20
--
-- yes: netns namespace=4026532300 comm=ab time_wait=27000 active_opens_per_s=500 *20
-- no: tcp time_wait=900 active_opens_per_s=15 *20
--
-- no: tcp time_wait=27000 active_opens_per_s=500 *20
-- no: text topic=sysctl name=net.ipv4.ip_local_port_range phase=start value="1024 65535"
-- Eight tenths of the range that was recorded, or of the kernel's usual one (32768 to 60999): each address that is connected to has
-- as many, so that it is no certainty with several of them. The range of another network namespace cannot be read from outside.
WITH ranges AS (
    SELECT run, host, any_value(TRY_CAST(regexp_extract(value, '(\d+)\s+(\d+)', 2) AS BIGINT) - TRY_CAST(regexp_extract(value, '(\d+)\s+(\d+)', 1) AS BIGINT) + 1) AS ports
    FROM text WHERE name LIKE '%ip_local_port_range' GROUP BY run, host
), hosts AS (
    SELECT run, host, namespace, place, max(time_wait) AS waiting, wmean(active_opens_per_s, dt) AS opens FROM tcp_space GROUP BY run, host, namespace, place
)
SELECT h.run, h.host, CAST(waiting AS BIGINT) AS waiting, coalesce(r.ports, 28232) AS ports, h.place
FROM hosts h LEFT JOIN ranges r ON r.run = h.run AND r.host = h.host AND h.namespace IS NULL
WHERE waiting >= 0.8 * coalesce(r.ports, 28232) AND opens >= 1
ORDER BY waiting DESC, h.run, h.host
