-- title: What could not be read?
-- about: Every file, line or counter that a source could not interpret; nothing is dropped silently.
-- section: facts
-- chart: table
-- order: 40
SELECT run, host, t, source, file, line, message
FROM note
ORDER BY run, host, source, file, line, t
