-- title: How steady was disk latency?
-- about: Mean latency by device, weighted by requests, with the range of nine out of ten intervals (p5 to p95). A narrow range is a steady disk; a wide one means bursts, or a noisy neighbour.
-- section: disk
-- chart: interval
-- x: device
-- y: await_ms, p5_ms, p95_ms
-- unit: ms
-- order: 52
-- param: n = 20, how many devices to show
WITH per_disk AS (
    SELECT run, host, device, wmean(await_ms, (reads_per_s + writes_per_s) * dt) AS await_ms,
        quantile_cont(await_ms, 0.05) AS p5_ms, quantile_cont(await_ms, 0.95) AS p95_ms, count(await_ms) AS intervals
    FROM disk
    WHERE await_ms IS NOT NULL AND coalesce(class, 'disk') NOT IN ('partition', 'loop', 'ram')
    GROUP BY run, host, device
), placed AS (
    SELECT *, row_number() OVER (PARTITION BY run, host ORDER BY await_ms DESC NULLS LAST, device) AS place
    FROM per_disk
    WHERE await_ms IS NOT NULL
)
SELECT run, host, device, await_ms, least(p5_ms, await_ms) AS p5_ms, greatest(p95_ms, await_ms) AS p95_ms, intervals
FROM placed
WHERE place <= $n
ORDER BY run, host, place
