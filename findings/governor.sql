-- title: The CPU frequency governor is not `performance`
-- severity: warning
-- section: facts
-- message: The CPU frequency governor is {governor} (driver {driver}).
-- advice: Short bursts run at a low frequency until the governor reacts, so that results depend on what ran before: set `performance` for measurements. With intel_pstate and amd-pstate-epp, `powersave` also reaches full speed, but later.
-- ask: facts
-- kind: measurement
-- yes: text topic=cpufreq name=scaling_governor phase=start value=ondemand
-- yes: text topic=cpufreq name=scaling_driver phase=start value=acpi-cpufreq
-- no: text topic=cpufreq name=scaling_governor phase=start value=performance
-- no: text topic=cpufreq name=scaling_driver phase=start value=acpi-cpufreq
--
-- no: text topic=cpufreq name=scaling_driver phase=start value=acpi-cpufreq
WITH governors AS (
    SELECT run, host, max_by(value, coalesce(phase, 'start')) AS governor FROM text WHERE topic = 'cpufreq' AND name = 'scaling_governor' GROUP BY run, host
), drivers AS (
    SELECT run, host, any_value(value) AS driver FROM text WHERE topic = 'cpufreq' AND name = 'scaling_driver' GROUP BY run, host
)
SELECT run, host, governor, coalesce(driver, 'not known') AS driver,
    CASE WHEN governor = 'powersave' AND driver IN ('intel_pstate', 'amd-pstate-epp') THEN 'info' ELSE 'warning' END AS severity
FROM governors LEFT JOIN drivers USING (run, host)
WHERE governor <> 'performance'
ORDER BY run, host
