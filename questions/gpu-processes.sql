-- title: Which process used which GPU?
-- about: Memory of the GPU that each process held at most, its share of the GPU's time, and what CPU time it used meanwhile, in percent of one CPU: a process with a full thread and an idle GPU does not feed it.
-- section: gpu
-- chart: table
-- order: 20
-- param: n = 20, how many processes to show
WITH used AS (
    SELECT run, host, gpu, instance, pid, max(comm) AS comm, max(memory_bytes) AS max_memory_bytes, sum(util * dt) AS used_s, sum(video_util * dt) AS video_s, sum(dt) AS there_s
    FROM gpu_process
    GROUP BY run, host, gpu, instance, pid
), seen AS (
    SELECT run, host, gpu, instance, sum(dt) AS seen_s FROM gpu GROUP BY run, host, gpu, instance
), work AS (
    SELECT run, host, pid, sum(cpu * dt) AS cpu_s FROM process GROUP BY run, host, pid
)
SELECT u.run, u.host, u.gpu, u.instance, u.pid, u.comm, max_memory_bytes, used_s / nullif(coalesce(s.seen_s, u.there_s), 0) AS util_pct,
    video_s / nullif(coalesce(s.seen_s, u.there_s), 0) AS video_util_pct, w.cpu_s / nullif(coalesce(s.seen_s, u.there_s), 0) AS cpu_pct, there_s
FROM used u
LEFT JOIN seen s ON s.run = u.run AND s.host = u.host AND s.gpu = u.gpu AND s.instance IS NOT DISTINCT FROM u.instance
LEFT JOIN work w ON w.run = u.run AND w.host = u.host AND w.pid = u.pid
QUALIFY row_number() OVER (PARTITION BY u.run, u.host ORDER BY max_memory_bytes DESC NULLS LAST, used_s DESC NULLS LAST, u.pid, u.gpu, u.instance) <= $n
ORDER BY u.run, u.host, u.gpu, u.instance NULLS FIRST, max_memory_bytes DESC NULLS LAST, u.pid
