-- One row for each interval of a whole disk: how busy it was, what queued for it, how long a request took, from whichever column has it.
-- `queue` is the mean number of requests in flight: as it was counted, or by Little's law from rates and latencies, or what was in flight at the
-- end of the interval; NULL where unknown. `source` names it. `bytes` is what was read and written a second.
-- Two files of an import on the same time count once: a row counts whose middle is behind the ends of those before it.
WITH known AS (
    SELECT run, host, t, dt, device, util, in_flight,
        CASE WHEN read_bytes_per_s IS NOT NULL OR write_bytes_per_s IS NOT NULL THEN coalesce(read_bytes_per_s, 0) + coalesce(write_bytes_per_s, 0) END AS bytes,
        CASE WHEN queue_depth IS NOT NULL OR wait_queue IS NOT NULL THEN coalesce(queue_depth, 0) + coalesce(wait_queue, 0) END AS counted,
        CASE WHEN reads_per_s IS NOT NULL OR writes_per_s IS NOT NULL THEN coalesce(reads_per_s, 0) + coalesce(writes_per_s, 0) ELSE transfers_per_s END AS requests,
        CASE WHEN read_await_ms IS NOT NULL OR write_await_ms IS NOT NULL
            THEN (coalesce(read_await_ms * reads_per_s, 0) + coalesce(write_await_ms * writes_per_s, 0))
                / nullif(coalesce(CASE WHEN read_await_ms IS NOT NULL THEN reads_per_s END, 0) + coalesce(CASE WHEN write_await_ms IS NOT NULL THEN writes_per_s END, 0), 0)
            ELSE await_ms END AS mean_ms
    FROM disk
    WHERE coalesce(class, 'disk') = 'disk'
    QUALIFY coalesce(epoch_us(t) - coalesce(dt, 0) * 5e5 > lag(epoch_us(t)) OVER (PARTITION BY run, host, device, util IS NULL, coalesce(await_ms, read_await_ms, write_await_ms, queue_depth) IS NULL ORDER BY t, dt), true)
)
SELECT run, host, t, dt, device, util, requests, bytes, mean_ms, coalesce(counted, requests * mean_ms / 1000, in_flight) AS queue,
    CASE WHEN counted IS NOT NULL THEN 'queue' WHEN requests * mean_ms IS NOT NULL THEN 'rate and latency' WHEN in_flight IS NOT NULL THEN 'in flight' END AS source
FROM known
