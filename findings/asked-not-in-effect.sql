-- title: A setting that is asked for is not in effect
-- severity: warning
-- section: facts
-- message: {what}: asked for is {wanted}, in effect is {actual}.
-- advice: What the files say is not what was measured. See who sets it otherwise (a later file, a service, a limit above), whether it needs a restart, a remount or a permission, and record again. Harmless where somebody changed it on purpose for this recording.
-- ask: facts
-- kind: measurement
-- yes: text topic=asked name="sysctl vm.swappiness" phase=start value=1
-- yes: text topic="in effect" name="sysctl vm.swappiness" phase=start value=60
--
-- yes: text topic=asked name="postgres preload" value=libjemalloc.so.2
-- yes: text topic="in effect" name="postgres preload" value="not loaded"
-- no: text topic=asked name="sysctl vm.swappiness" phase=start value=1
-- no: text topic="in effect" name="sysctl vm.swappiness" phase=start value=1
--
-- no: text topic=asked name="sysctl vm.swappiness" phase=start value=1
-- no: text topic="in effect" name="CPU frequency governor" phase=start value=powersave
--
-- no: text topic=sysctl name=vm.swappiness phase=start value=60
-- One mechanism for all settings: the topic `asked` has what files, the kernel's command line and servers ask for, `in effect`
-- what there is, in the same form. One that a later file reverses is information: it may be what that file is for.
WITH known AS (
    SELECT run, host, topic, name, max_by(value, coalesce(phase, 'start')) AS value
    FROM text
    WHERE topic IN ('asked', 'in effect')
    GROUP BY run, host, topic, name
)
SELECT run, host, name AS what, wanted.value AS wanted, actual.value AS actual,
    CASE WHEN name LIKE '%, which % reverses' THEN 'info' ELSE 'warning' END AS severity
FROM (SELECT * FROM known WHERE topic = 'asked') AS wanted
JOIN (SELECT * FROM known WHERE topic = 'in effect') AS actual USING (run, host, name)
WHERE wanted.value <> actual.value
ORDER BY severity DESC, what, run, host
