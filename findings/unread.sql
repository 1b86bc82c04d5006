-- title: Some things could not be read
-- severity: info
-- section: facts
-- says: {source} could not read {n} things, first in {file}: {message}.
-- advice: What could not be read is missing from all other answers. Recording may need root or a capability; for an import, the notes name the lines.
-- ask: notes
-- yes: note source=process file=/proc/1/io message="permission denied" *3
-- no: cpu idle=100 *3
SELECT run, host, coalesce(source, 'A source') AS source, count(*) AS n, coalesce(min_by(file, coalesce(line, 0)), 'a file') AS file,
    substr(rtrim(coalesce(min_by(message, coalesce(line, 0)), 'no reason given'), '.'), 1, 160) AS message
FROM note
GROUP BY run, host, source
ORDER BY n DESC, run, host, source
