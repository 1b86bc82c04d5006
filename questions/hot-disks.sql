-- title: Which disks were busy?
-- about: Devices by mean utilisation, with requests, bytes and queue depth; await is averaged over requests, not over intervals.
-- section: disk
-- chart: table
-- order: 10
-- param: n = 10, how many devices to show
WITH per_disk AS (
    SELECT run, host, device, min(class) AS class, wmean(util, dt) AS mean_util, max(util) AS max_util,
        wmean(reads_per_s, dt) AS reads_per_s, wmean(writes_per_s, dt) AS writes_per_s,
        wmean(read_bytes_per_s, dt) AS read_bytes_per_s, wmean(write_bytes_per_s, dt) AS write_bytes_per_s,
        wmean(await_ms, (reads_per_s + writes_per_s) * dt) AS await_ms,
        wmean(queue_depth, dt) AS queue_depth
    FROM disk
    WHERE coalesce(class, 'disk') NOT IN ('partition', 'loop', 'ram')
    GROUP BY run, host, device
), placed AS (
    SELECT *, row_number() OVER (
        PARTITION BY run, host ORDER BY mean_util DESC NULLS LAST, read_bytes_per_s + write_bytes_per_s DESC NULLS LAST, device) AS place
    FROM per_disk
)
SELECT run, host, device, class, mean_util, max_util, reads_per_s, writes_per_s, read_bytes_per_s, write_bytes_per_s,
    await_ms, queue_depth
FROM placed
WHERE place <= $n
ORDER BY run, host, place
