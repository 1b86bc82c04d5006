-- title: Who used the memory?
-- about: Processes by maximum resident memory, and its growth from first to last sample; processes that were idle throughout are missing.
-- section: process
-- chart: table
-- order: 40
-- param: n = 20, how many processes to show
WITH held AS (
    SELECT run, host, pid, comm, max(rss_bytes) AS max_rss_bytes, wmean(rss_bytes, dt) AS mean_rss_bytes,
        max_by(rss_bytes, t) - min_by(rss_bytes, t) AS growth_bytes, max(vsz_bytes) AS max_vsz_bytes,
        sum(major_faults_per_s * dt) AS major_faults
    FROM process
    GROUP BY run, host, pid, comm
), placed AS (
    SELECT *, row_number() OVER (PARTITION BY run, host ORDER BY max_rss_bytes DESC, pid) AS place
    FROM held
    WHERE max_rss_bytes > 0
)
SELECT run, host, pid, comm, max_rss_bytes, mean_rss_bytes, growth_bytes, max_vsz_bytes, round(major_faults) AS major_faults
FROM placed
WHERE place <= $n
ORDER BY run, host, place
