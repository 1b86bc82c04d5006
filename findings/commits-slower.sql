-- title: Commits wait for the log to be flushed
-- severity: warning
-- section: database
-- periods: inside, rest
-- message: {summary}, while as many sessions or more are at work, and the CPUs and locks are used less: each commit waits for its flush.
-- advice: See how long the log's disk takes for a flush, and what else writes there; a replica that must confirm makes commits wait likewise. Larger transactions and group commit need fewer flushes.
-- ask: db-commit
-- explains: locks-more, network-slower, server-stalls, disk-slower
-- yes: db commits_per_s=8000 active_sessions=1.5 rows_inserted_per_s=8000 *30
-- yes: db_wal syncs_per_s=8000 *30
-- yes: cpu usr=35 sys=45 idle=15 *30
-- yes: inside db commits_per_s=400 active_sessions=8 rows_inserted_per_s=400 *30 @30
-- yes: inside db_wal syncs_per_s=120 *30 @30
-- yes: inside cpu usr=4 sys=4 idle=91 *30 @30
-- no: db commits_per_s=8000 active_sessions=1.5 rows_inserted_per_s=8000 *30
-- no: db_wal syncs_per_s=8000 *30
-- no: cpu usr=35 sys=45 idle=15 *30
-- no: inside db commits_per_s=400 active_sessions=1.5 rows_inserted_per_s=400 *30 @30
-- no: inside db_wal syncs_per_s=400 *30 @30
-- no: inside cpu usr=4 sys=4 idle=91 *30 @30
--
-- no: db commits_per_s=8000 active_sessions=1.5 waiting_sessions=0.1 *30
-- no: db_wal syncs_per_s=8000 *30
-- no: cpu usr=35 sys=45 idle=15 *30
-- no: inside db commits_per_s=400 active_sessions=8 waiting_sessions=7 *30 @30
-- no: inside db_wal syncs_per_s=400 *30 @30
-- no: inside cpu usr=4 sys=4 idle=91 *30 @30
--
-- no: db commits_per_s=8000 active_sessions=1.5 *30
-- no: db_wal syncs_per_s=20 *30
-- no: cpu usr=35 sys=45 idle=15 *30
-- no: inside db commits_per_s=400 active_sessions=8 *30 @30
-- no: inside db_wal syncs_per_s=5 *30 @30
-- no: inside cpu usr=4 sys=4 idle=91 *30 @30
-- Half as many flushes and commits and fewer, though more sessions are active: where neither locks, CPUs, reads nor a change of the schema hold them, the flush
-- does. Where flushes are rare, as of a load that only reads, it cannot; nor where they are many more than commits, which share them.
SELECT m.run, m.host, c.summary, m.severity, least(4, greatest(-commit_flushes, active)) AS weight
FROM moves m JOIN change c ON c.run = m.run AND c.is_first = 1 AND c.means = 'commit_flushes'
    JOIN change w ON w.run = m.run AND w.is_first = 1 AND w.means = 'throughput'
WHERE commit_flushes <= -1 AND work <= -1 AND active >= 0.5 AND cpu_use <= -0.5 AND NOT EXISTS (
        SELECT 1 FROM change x JOIN change a ON a.run = x.run AND a.is_first = 1 AND a.means = 'active'
        WHERE x.run = m.run AND x.means = 'locks' AND x.change > 0.3 AND x.inside >= 0.2 * a.inside * CASE WHEN x.table_name = 'metric' AND x.key ILIKE '%time%' THEN 1000 ELSE 1 END
            AND (x.column_name LIKE '%time' OR x.key ILIKE '%lock%time%' OR x.column_name = 'waiting_sessions'))
    AND coalesce(ddl, 0) < 0.5
    AND c.rest >= 0.1 * w.rest AND c.inside >= 1 AND w.inside >= 0.5 * c.inside AND coalesce(misses, 0) <= 0.3 AND own_work < 0.3 AND coalesce(flushes, 0) < 1.2
ORDER BY weight DESC
