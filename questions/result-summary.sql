-- title: What are the results of the run?
-- about: Results of the run: elapsed time, CPU time and exit status of the command, or figures of a load generator.
-- section: result
-- chart: tiles
-- y: value
-- series: name
-- order: 90
SELECT run, host, name, value, unit, better, source
FROM result
ORDER BY run, host, t NULLS FIRST, source, name
