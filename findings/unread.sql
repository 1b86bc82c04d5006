-- title: There are notes on how this was read
-- severity: info
-- section: facts
-- message: {source} {noted}{of_file}: {message}{more}.
-- advice: What could not be read is missing from all other answers; what was assumed may be given (fenxi import --help). Recording may need root or a capability; for an import, the notes name the lines.
-- ask: notes
-- yes: note source=process file=/proc/1/io message="permission denied" *3
--
-- yes: note source=vmstat file=vmstat.txt message="assumed: one second between lines, as the input does not say (give --interval)"
--
-- yes: note source=plockstat message="threads of mal (26751) wait for each other in malloc: try an allocator made for threads"
-- no: cpu idle=100 *3
-- Assumptions and the rest stand apart: what was assumed was read. A long message ends with a word.
WITH kinds AS (
    SELECT run, host, coalesce(source, 'a source') AS source, file, line, starts_with(message, 'assumed: ') AS is_assumed, coalesce(message, 'no reason given') AS message FROM note
), placed AS (
    SELECT *, row_number() OVER (PARTITION BY run, host, source, is_assumed ORDER BY coalesce(line, 0), file, message) AS place
    FROM kinds
), first AS (
    SELECT run, host, source, coalesce(is_assumed, false) AS is_assumed, count(*) AS n, max(file) FILTER (place = 1) AS file, rtrim(replace(max(message) FILTER (place = 1), 'assumed: ', ''), '.') AS message
    FROM placed
    GROUP BY run, host, source, coalesce(is_assumed, false)
)
SELECT run, host, source, CASE WHEN is_assumed THEN 'assumed' ELSE 'noted' END AS noted, CASE WHEN file IS NULL OR file = '' THEN '' ELSE concat(' of ', file) END AS of_file, n,
    CASE WHEN length(message) > 160 THEN concat(regexp_replace(left(message, 160), '[\s,;:(]+[^\s]*$', ''), ' …') ELSE message END AS message,
    CASE WHEN n = 1 THEN '' ELSE concat(' (and ', CAST(n - 1 AS VARCHAR), ' more)') END AS more
FROM first
ORDER BY is_assumed, n DESC, run, host, source
