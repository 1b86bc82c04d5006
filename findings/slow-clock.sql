-- title: The clock source is slow to read
-- severity: warning
-- section: facts
-- says: The clock source is {clock}, which needs a system call or more for every reading of the time.
-- advice: Programs that read the time often (databases with timing on, loggers, tracers) lose CPU by it. See why the kernel left tsc (its log says so), or choose a better source of those available.
-- ask: facts
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
