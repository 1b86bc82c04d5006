-- title: Sorts of a database server exceed their buffer
-- severity: info
-- section: database
-- message: {server} sorted {sorts:/s} times and merged sorted parts from temporary files {passes:/s} times. Statements that merge are {share:%} of the time in statements, the first of them: {statement}.
-- advice: Sort less: an index in the order wanted, fewer or shorter columns, LIMIT. Or raise sort_buffer_size for the sessions that need it (each sort of each session takes that much), not for all. Normal for reports. Mistaken for slow disks and for CPU that the statement needs anyway.
-- ask: db-statements
-- impact: share of the statements' time
-- world: database
-- yes: db server=localhost samples=10 sorts_per_s=2 sort_merge_passes_per_s=9 *40
-- yes: db_statement server=localhost digest=a statement="SELECT a ORDER BY b" calls_per_s=2 time=1.5 sort_merge_passes_per_s=9 dt=10 *4
-- yes: db_statement server=localhost digest=b statement="SELECT b" calls_per_s=50 time=0.5 sort_merge_passes_per_s=0 dt=10 *4
--
-- yes: db server=localhost samples=10 sorts_per_s=2 sort_merge_passes_per_s=9 *40
-- no: db server=localhost samples=10 sorts_per_s=500 sort_merge_passes_per_s=9 *40
--
-- no: db server=localhost samples=10 sorts_per_s=0.05 sort_merge_passes_per_s=0.05 *40
--
-- no: db server=localhost samples=10 sorts_per_s=2 sort_merge_passes_per_s=0 *40
-- Merge passes of a tenth of the sorts (MySQLTuner), and one in ten seconds. A warning where statements that merge in each tenth call take a
-- quarter of the time in statements and half a session.
WITH sorted AS (
    SELECT run, host, server, wmean(sorts_per_s, dt) AS sorts, wmean(sort_merge_passes_per_s, dt) AS passes, sum(dt) AS seen_s
    FROM db d WHERE d.database IS NULL GROUP BY run, host, server
), statements AS (
    SELECT run, host, server, s.digest, any_value(s.statement) AS statement, sum(s.time * dt) AS spent, sum(sort_merge_passes_per_s * dt) >= 0.1 * sum(calls_per_s * dt) AS merges
    FROM db_statement s WHERE coalesce(nested, 'no') <> 'yes' GROUP BY run, host, server, s.digest
), merging AS (
    SELECT run, host, server, sum(spent) FILTER (merges) AS merging, sum(spent) AS spent, arg_max(statement, spent) FILTER (merges AND statement IS NOT NULL) AS statement
    FROM statements GROUP BY run, host, server
)
SELECT s.run, s.host, s.server, s.sorts, s.passes, coalesce(100 * m.merging / nullif(m.spent, 0), 0) AS share, coalesce(left(m.statement, 120), 'not known') AS statement,
    CASE WHEN m.merging >= 0.25 * m.spent AND m.merging >= 0.5 * s.seen_s THEN 'warning' ELSE 'info' END AS severity
FROM sorted s
LEFT JOIN merging m ON m.run = s.run AND m.host = s.host AND m.server IS NOT DISTINCT FROM s.server
WHERE s.passes >= 0.1 AND s.passes > 0.1 * s.sorts AND s.seen_s >= 5
ORDER BY s.passes DESC, s.run, s.host, s.server
