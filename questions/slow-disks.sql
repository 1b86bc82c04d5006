-- title: Which disks were slow?
-- about: Mean read and write latency over all requests, the maximum interval mean, and for how long latency exceeded the limit.
-- section: disk
-- chart: table
-- order: 50
-- param: n = 10, how many devices to show
-- param: limit_ms = 10.0, mean latency above which an interval counts as slow
WITH per_disk AS (
    SELECT run, host, device, min(class) AS class,
        wmean(read_await_ms, reads_per_s * dt) AS read_await_ms, max(read_await_ms) AS worst_read_await_ms,
        wmean(write_await_ms, writes_per_s * dt) AS write_await_ms, max(write_await_ms) AS worst_write_await_ms,
        sum(CASE WHEN greatest(coalesce(read_await_ms, 0), coalesce(write_await_ms, 0)) > $limit_ms THEN dt ELSE 0 END) AS slow_s,
        sum(reads_per_s * dt) AS reads, sum(writes_per_s * dt) AS writes
    FROM disk
    WHERE coalesce(class, 'disk') NOT IN ('partition', 'loop', 'ram')
    GROUP BY run, host, device
), placed AS (
    SELECT *, row_number() OVER (
        PARTITION BY run, host ORDER BY slow_s DESC, greatest(coalesce(read_await_ms, 0), coalesce(write_await_ms, 0)) DESC, device) AS place
    FROM per_disk
    WHERE read_await_ms IS NOT NULL OR write_await_ms IS NOT NULL
)
SELECT run, host, device, class, slow_s, read_await_ms, worst_read_await_ms, write_await_ms, worst_write_await_ms,
    round(reads) AS reads, round(writes) AS writes
FROM placed
WHERE place <= $n
ORDER BY run, host, place
