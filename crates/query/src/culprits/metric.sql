-- title: It shows
-- severity: info
-- section: facts
-- message: {name} {value}{unit}
-- yes: metric name=perf.cycles value=3.2e9
-- no: metric name=perf.cycles
-- no: metric name=observer_cpu value=0.2
-- Counters and other numbers without their own table, counters of the CPU first; the largest of each name before others, and zeros last.
-- What our own observers cost is no figure of what they watch.
WITH named AS (
    SELECT run, host, name, CASE WHEN labels IS NULL THEN name ELSE concat(name, ' (', labels, ')') END AS shown, avg(value) AS value, any_value(unit) AS unit,
        min(CASE WHEN name LIKE '%insn_per_cycle%' OR name LIKE '%ipc' THEN 1 WHEN name LIKE '%utilized%' THEN 2 WHEN name LIKE 'perf.%' THEN 3 ELSE 4 END) AS place
    FROM metric
    WHERE value IS NOT NULL AND NOT starts_with(name, 'observer_')
    GROUP BY run, host, name, labels
)
SELECT run, host, shown AS name, value, CASE WHEN unit IS NULL THEN '' ELSE concat(' ', unit) END AS unit, place,
    row_number() OVER (PARTITION BY run, host, name ORDER BY abs(value) DESC, shown) AS nth
FROM named
ORDER BY place, CASE WHEN value = 0 THEN 1 ELSE 0 END, nth, run, host, shown
