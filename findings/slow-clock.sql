-- title: The clock source is slow to read
-- severity: warning
-- section: facts
-- message: The clock source is {clock}, which needs at least a system call for every reading of the time.
-- advice: Programs that read the time often (databases with timing enabled, loggers, tracers) lose CPU time. Check why the kernel gave up tsc (see its log), or choose a faster available source.
-- ask: facts
-- kind: measurement
-- yes: text topic=kernel name="clock source" phase=start value=hpet
-- no: text topic=kernel name="clock source" phase=start value=tsc
--
-- no: text topic=kernel name="clock source" phase=start value=arch_sys_counter
-- Only sources that are known to be slow: they are read through a device or a trap, which takes about a microsecond
-- where tsc takes some tens of nanoseconds.
SELECT run, host, any_value(value) AS clock
FROM text
WHERE topic = 'kernel' AND name = 'clock source' AND value IN ('hpet', 'acpi_pm', 'jiffies', 'refined-jiffies', 'pit', 'xen', 'hyperv_clocksource_msr')
GROUP BY run, host
ORDER BY run, host
