-- title: Statements read more rows than before
-- severity: warning
-- section: database
-- periods: inside, rest
-- message: {summary}{reasons}.
-- advice: Compare statements by rows read and their plans with those of the time before; update statistics, add the index. Harmless where a report is meant to read so much.
-- ask: db-full-scans
-- explains: sorts-spill-more, locks-more, cache-misses-more, outside-load, disk-slower, cpu-busier
-- yes: db commits_per_s=100 rows_returned_per_s=5000 *60
-- yes: inside db commits_per_s=60 rows_returned_per_s=400000 *30 @60
--
-- yes: db commits_per_s=100 rows_returned_per_s=5000 sent_bytes_per_s=500000 *60
-- yes: inside db commits_per_s=60 rows_returned_per_s=400000 sent_bytes_per_s=400000 *30 @60
-- no: db commits_per_s=100 rows_returned_per_s=5000 *60
-- no: inside db commits_per_s=20 rows_returned_per_s=1000 *30 @60
--
-- no: db commits_per_s=100 rows_returned_per_s=5000 sent_bytes_per_s=500000 *60
-- no: inside db commits_per_s=80 rows_returned_per_s=150000 sent_bytes_per_s=9000000 *30 @60
--
-- no: db commits_per_s=8000 rows_fetched_per_s=411 *30
-- no: cpu usr=35 sys=45 idle=15 *30
-- no: inside db commits_per_s=400 rows_fetched_per_s=421 *30 @30
-- no: inside cpu usr=4 sys=4 idle=91 *30 @30
--
-- no: db commits_per_s=8000 rows_fetched_per_s=433 rows_returned_per_s=9000000 *30
-- no: cpu usr=45 sys=45 idle=10 *30
-- no: inside db commits_per_s=1400 rows_fetched_per_s=437 rows_returned_per_s=1300000 *30 @30
-- no: inside cpu usr=85 sys=10 idle=5 *30 @30
-- What a poller reads stays the same while transactions become fewer: rows read, or scans, must rise themselves, or keep the CPUs as busy as before.
SELECT m.run, m.host, c.summary, m.severity, least(4, greatest(reads_cost, scans_cost)) AS weight,
    CASE WHEN sent IS NULL THEN ': a plan has changed, an index is missing, a statement is new, or results are larger'
        ELSE ', without more being sent to clients: a plan has changed, an index is missing, or a statement is new' END AS reasons
FROM moves m JOIN change c ON c.run = m.run AND c.is_first = 1
    AND c.means = CASE WHEN coalesce(reads_cost, 0) >= coalesce(scans_cost, 0) THEN 'reads' ELSE 'scans' END
WHERE c.inside - c.rest >= 1 AND (reads_cost >= 0.8 AND (reads >= 0.3 OR reads > -0.3 AND cpu_use > -0.3 AND NOT EXISTS (SELECT 1 FROM change x WHERE x.run = m.run AND x.means = 'reads' AND x.change <= -1)) OR scans_cost >= 0.8 AND scans >= 0.3)
    AND NOT (coalesce(sent_cost, 0) >= 0.6 AND coalesce(sent, 0) >= 0.3) AND NOT (coalesce(inserted, 0) > 0.1 AND coalesce(inserted_cost, 0) >= 1) AND NOT is_lock_bound
ORDER BY weight DESC
