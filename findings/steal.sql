-- title: The hypervisor steals CPU time
-- severity: warning
-- section: cpu
-- message: Steal was {stolen:%} of CPU time: the hypervisor ran something else while this machine was runnable.
-- advice: Results of this run depend on noisy neighbours: repeat it, compare steal between runs, or use a dedicated machine. Nothing inside the guest helps.
-- ask: cpu-time
-- comparison: warn
-- impact: stolen of the CPUs' time
-- yes: cpu usr=50 steal=12 idle=38 *30
-- no: cpu usr=50 steal=0.4 idle=49 *30
--
-- yes: cpu usr=50 steal=2 idle=48 *30
-- no: cpu usr=50 idle=50 *30
-- One percent already moves a benchmark by as much; below a tenth it is no bottleneck. From a quarter on, work surely suffers.
WITH machines AS (
    SELECT run, host, wmean(steal, dt) AS stolen, sum(dt) AS seen_s
    FROM cpu c
    WHERE cpu IS NULL OR NOT EXISTS (SELECT 1 FROM cpu a WHERE a.run = c.run AND a.host = c.host AND a.cpu IS NULL)
    GROUP BY run, host
)
SELECT run, host, stolen, CASE WHEN stolen >= 25 THEN 'critical' WHEN stolen >= 10 THEN 'warning' ELSE 'info' END AS severity
FROM machines
WHERE stolen >= 1 AND seen_s >= 3
ORDER BY stolen DESC, run, host
