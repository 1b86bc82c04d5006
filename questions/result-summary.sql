-- title: What did the run achieve?
-- about: The run's own results: elapsed time, CPU and exit status of the command, or what a load generator reported.
-- section: result
-- chart: tiles
-- y: value
-- series: name
-- order: 10
SELECT run, host, name, value, unit, better, source
FROM result
ORDER BY run, host, t NULLS FIRST, source, name
