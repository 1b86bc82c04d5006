-- title: Some things could not be read
-- severity: info
-- section: facts
-- says: {source} could not read {n} things, first in {file}: {message}.
-- advice: What could not be read is missing from all other answers. Recording may need root or a capability; for an import, the notes name the lines.
-- ask: notes
-- yes: note source=process file=/proc/1/io message="permission denied" *3
-- no: cpu idle=100 *3
WITH placed AS (
    SELECT *, row_number() OVER (PARTITION BY run, host, source ORDER BY coalesce(line, 0), file, message) AS place
    FROM note
)
SELECT run, host, coalesce(source, 'A source') AS source, count(*) AS n, coalesce(max(file) FILTER (place = 1), 'a file') AS file,
    substr(rtrim(coalesce(max(message) FILTER (place = 1), 'no reason given'), '.'), 1, 160) AS message
FROM placed
GROUP BY run, host, source
ORDER BY n DESC, run, host, source
