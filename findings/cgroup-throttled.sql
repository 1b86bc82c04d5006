-- title: A cgroup is throttled by its CPU quota
-- severity: warning
-- section: cpu
-- message: {of_group} exhausted its quota in {periods:%} of the periods (quota {quota:%} of one CPU).
-- advice: Latency suffers even if mean CPU use is far below the quota. Raise cpu.max, use fewer threads, or lengthen the period. Harmless if the group is meant to be slow.
-- ask: cgroup-usage
-- comparison: warn
-- explains: cpu-pressure, cpu-queue, db-run-queue, db-cpu-bound
-- part: throttled
-- impact: periods of the periods of its quota
-- yes: cgroup cgroup=/app throttled=60 cpu=180 cpu_limit=200 *30
-- yes: cgroup cgroup=/docker/1 container=web pod=shop-0 namespace=prod throttled=60 cpu=180 cpu_limit=200 *30
-- no: cgroup cgroup=/app throttled=0 cpu=50 cpu_limit=200 *30
--
-- no: cgroup cgroup=/app throttled=90 cpu=50 cpu_limit=200 *1
-- no: cgroup cgroup=/app throttled=0 cpu=50 cpu_limit=200 *29 @1
-- One period in twenty is what a 95th percentile sees. From half of all periods on, the group surely runs slower than it would.
WITH groups AS (
    SELECT
        run, host, cgroup,
        coalesce('container ' || max(container) || coalesce(' (pod ' || coalesce(max(namespace) || '/', '') || max(pod) || ')', ''), cgroup) AS of_group,
        wmean(throttled, dt) AS periods, wmean(cpu, dt) AS used, max(cpu_limit) AS quota, sum(dt) AS seen_s
    FROM cgroup
    WHERE throttled IS NOT NULL
    GROUP BY run, host, cgroup
)
SELECT run, host, cgroup, of_group, periods, used, quota, CASE WHEN periods >= 50 THEN 'critical' ELSE 'warning' END AS severity
FROM groups
WHERE periods >= 5 AND seen_s >= 3
ORDER BY periods DESC, run, host, cgroup
