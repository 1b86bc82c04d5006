-- title: Which plans do statements have, and which of them changed?
-- about: Of each statement that took a share of the time the plan that was seen last, with the one that it replaced: as EXPLAIN gives it of an execution that was seen (example), for any values (generic), or as auto_explain logged it (executed). A plan is another one when its nodes, relations, indexes or their order are; costs and estimates may move. Estimates that were off are marked where the plan was measured.
-- section: database
-- chart: table
-- order: 32
-- param: digest = '', digest of the statement, as db-statements shows it; empty for all
-- param: n = 30, how many statements to show
WITH ranked AS (
    SELECT *, count(change) OVER (PARTITION BY run, host, server, database, digest, source) AS changes_of_source,
        row_number() OVER (PARTITION BY run, host, server, database, digest ORDER BY source = 'generic' AND change IS NULL, t DESC, source) AS place
    FROM db_plan
    WHERE digest = $digest OR $digest = ''
), latest AS (
    SELECT * FROM ranked WHERE place = 1
), replaced AS (
    SELECT l.run, l.host, l.server, l.database, l.digest, arg_max(b.tree, b.t) AS tree
    FROM latest l
    JOIN db_plan b ON b.run = l.run AND b.host = l.host AND b.server IS NOT DISTINCT FROM l.server AND b.database IS NOT DISTINCT FROM l.database
        AND b.digest = l.digest AND b.source = l.source AND b.plan = l.replaced AND b.t <= l.t
    GROUP BY l.run, l.host, l.server, l.database, l.digest
), spent AS (
    SELECT run, host, server, database, digest, sum(running) AS running FROM db_statement_mean GROUP BY run, host, server, database, digest
)
SELECT l.run, l.host, l.server, l.database, s.running, l.changes_of_source AS changes, l.t, l.change, l.source, l.cost, l.estimated_rows, l.worst_estimate,
    regexp_replace(l.shape, '\n *', ' / ', 'g') AS way, l.tree AS plan, b.tree AS plan_before, l.statement, l.digest
FROM latest l
LEFT JOIN replaced b ON b.run = l.run AND b.host = l.host AND b.server IS NOT DISTINCT FROM l.server AND b.database IS NOT DISTINCT FROM l.database AND b.digest = l.digest
LEFT JOIN spent s ON s.run = l.run AND s.host = l.host AND s.server IS NOT DISTINCT FROM l.server AND s.database IS NOT DISTINCT FROM l.database AND s.digest = l.digest
ORDER BY l.run, l.changes_of_source DESC, s.running DESC NULLS LAST, l.digest
LIMIT $n
