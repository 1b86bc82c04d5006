-- title: What did the cgroups use?
-- about: CPU, memory and I/O of each cgroup, with CPU throttling and memory limit hits.
-- section: process
-- chart: table
-- order: 60
-- live: cgroup: cpu
-- param: n = 20, how many cgroups to show
WITH used AS (
    SELECT run, host, cgroup, max(container) AS container, max(pod) AS pod, max(namespace) AS namespace, max(image) AS image, wmean(cpu, dt) AS cpu_pct, max(cpu) AS max_cpu_pct, max(cpu_limit) AS limit_pct,
        wmean(throttled, dt) AS throttled_pct, max(memory_bytes) AS max_memory_bytes,
        max(memory_limit_bytes) AS memory_limit_bytes, sum(memory_limit_hits) AS memory_limit_hits,
        sum(oom_kills) AS oom_kills, wmean(read_bytes_per_s, dt) AS read_bytes_per_s,
        wmean(write_bytes_per_s, dt) AS write_bytes_per_s
    FROM cgroup
    GROUP BY run, host, cgroup
), placed AS (
    SELECT *, row_number() OVER (PARTITION BY run, host ORDER BY cpu_pct DESC NULLS LAST, cgroup) AS place
    FROM used
)
SELECT run, host, cgroup, container, pod, namespace, image, cpu_pct, max_cpu_pct, limit_pct, throttled_pct, max_memory_bytes, memory_limit_bytes,
    memory_limit_hits, oom_kills, read_bytes_per_s, write_bytes_per_s
FROM placed
WHERE place <= $n
ORDER BY run, host, place
