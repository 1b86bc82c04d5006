-- title: What did the network carry, in packets, segments and messages?
-- about: Mean rates and sizes of each host in both directions: packets of interfaces that carried any, segments of TCP, and messages of a load generator, whose requests go out and replies come in. Where the run has a load, only its time counts. With offloads (GSO, TSO, GRO) a packet of an interface may be one of up to 64 KiB that the card splits. Sizes that no one counted are missing.
-- section: network
-- chart: table
-- order: 21
WITH loaded AS (
    SELECT run, min(epoch_us(t) - dt * 1e6) AS since_us, max(epoch_us(t)) AS until_us
    FROM load
    GROUP BY run
), link AS (
    SELECT net.*
    FROM net LEFT JOIN loaded USING (run)
    WHERE since_us IS NULL OR epoch_us(t) - dt * 5e5 BETWEEN since_us AND until_us
), segment AS (
    SELECT tcp.*
    FROM tcp LEFT JOIN loaded USING (run)
    WHERE since_us IS NULL OR epoch_us(t) - dt * 5e5 BETWEEN since_us AND until_us
), reported AS (
    SELECT run, host, source AS name, max(value) FILTER (WHERE name = 'throughput') AS transactions_per_s,
        max(value) FILTER (WHERE name = 'round_trips_per_transaction') AS round_trips,
        max(value) FILTER (WHERE name = 'request_bytes') AS request_bytes,
        max(value) FILTER (WHERE name = 'reply_bytes') AS reply_bytes, max(value) FILTER (WHERE name = 'clients') AS clients
    FROM result
    GROUP BY run, host, source
), counted AS (
    SELECT run, host, generator AS name, wmean(requests_per_s, dt) AS per_s, wmean(clients, dt) AS clients
    FROM load
    WHERE operation IS NULL
    GROUP BY run, host, generator
), mix AS (
    SELECT run, host, 3 AS place, 'messages' AS layer, name, transactions_per_s * round_trips AS out_per_s, request_bytes AS out_bytes,
        transactions_per_s * round_trips AS in_per_s, reply_bytes AS in_bytes, clients AS connections, NULL::DOUBLE AS opens_per_s,
        NULL::DOUBLE AS util
    FROM reported
    WHERE round_trips IS NOT NULL
    UNION ALL
    SELECT run, host, 3, 'messages', name, per_s, NULL, per_s, NULL, clients, NULL, NULL
    FROM counted
    WHERE per_s IS NOT NULL AND run NOT IN (SELECT run FROM reported WHERE round_trips IS NOT NULL)
    UNION ALL
    SELECT run, host, 2, 'segments', 'tcp', wmean(out_segments_per_s, dt),
        wmean(out_bytes_per_s, dt) / nullif(wmean(out_segments_per_s, dt), 0), wmean(in_segments_per_s, dt),
        wmean(in_bytes_per_s, dt) / nullif(wmean(in_segments_per_s, dt), 0), wmean(established, dt),
        wmean(coalesce(active_opens_per_s, 0) + passive_opens_per_s, dt), NULL
    FROM segment
    GROUP BY run, host
    UNION ALL
    SELECT run, host, 1, 'packets', interface, wmean(tx_packets_per_s, dt),
        wmean(tx_bytes_per_s, dt) / nullif(wmean(tx_packets_per_s, dt), 0), wmean(rx_packets_per_s, dt),
        wmean(rx_bytes_per_s, dt) / nullif(wmean(rx_packets_per_s, dt), 0), NULL, NULL, wmean(util, dt)
    FROM link
    GROUP BY run, host, interface
)
SELECT run, host, layer, name, out_per_s, out_bytes, in_per_s, in_bytes, connections, opens_per_s, util
FROM mix
WHERE coalesce(out_per_s, 0) + coalesce(in_per_s, 0) > 0
ORDER BY run, host, place, out_per_s + in_per_s DESC, name
