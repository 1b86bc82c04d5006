-- title: Sorts and hashes spill to disk
-- severity: warning
-- section: database
-- periods: inside, rest
-- message: {summary}: statements sort or hash more than the memory that they may use.
-- advice: Find the statement (temporary files by statement) and whether the memory of a statement was lowered (work_mem, sort_buffer_size, tmp_table_size), a plan changed or a report runs: an index or a limit avoids the sort.
-- ask: db-statements
-- explains: outside-disk, outside-load, database-writes-more, disk-slower
-- yes: db commits_per_s=100 temp_bytes_per_s=0 *60
-- yes: inside db commits_per_s=60 temp_bytes_per_s=90000000 *30 @60
-- no: db commits_per_s=100 temp_bytes_per_s=40000000 *60
-- no: inside db commits_per_s=300 temp_bytes_per_s=90000000 *30 @60
--
-- no: db commits_per_s=100 temp_files=0 *60
-- no: inside db commits_per_s=100 temp_files=0.2 *30 @60
-- Twice as much and more for each transaction, and one a second: now and then one is no change.
SELECT m.run, m.host, c.summary, m.severity, least(4, greatest(spills, spills_cost)) AS weight
FROM moves m JOIN change c ON c.run = m.run AND c.is_first = 1 AND c.means = 'spills'
WHERE spills >= 1 AND coalesce(spills_cost, spills) >= 1 AND c.inside - c.rest >= 1 AND coalesce(inserted_cost, 0) < 1
ORDER BY weight DESC
