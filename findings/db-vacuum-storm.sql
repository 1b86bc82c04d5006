-- title: A table is vacuumed or analyzed again and again
-- severity: warning
-- section: database
-- message: {relation} of {server} was vacuumed {vacuums:time|times} and analyzed {analyzes:time|times} in {seen_s:s}; {workers} autovacuum workers were at work on average.
-- advice: Each reads the table, and writes what it cleans: raise its scale factors, autovacuum_naptime and autovacuum_vacuum_cost_delay, or let a job run less often. A queue of a few rows needs it.
-- ask: db-vacuum
-- world: database
-- yes: db_table server=localhost database=shop relation=public.item live_rows=200000 vacuums=3 analyzes=3 dt=10 *2
-- yes: db_table server=localhost database=shop relation=public.other live_rows=200000 vacuums=0 analyzes=0 dt=10 *2
-- no: db_table server=localhost database=shop relation=public.item live_rows=200000 vacuums=1 analyzes=1 dt=10 *6
--
-- no: db_table server=localhost database=shop relation=public.item live_rows=20 vacuums=3 analyzes=3 dt=10 *2
--
-- no: db_table server=localhost database=shop relation=public.item live_rows=200000 vacuums=1 analyzes=1 dt=10 *1
-- Three times, and more than once in ten seconds, a table of ten thousand rows and more: by default autovacuum looks once a minute.
WITH spans AS (
    SELECT run, host, server, sum(dt) AS seen_s FROM (SELECT DISTINCT run, host, server, t, dt FROM db_table) GROUP BY run, host, server
), tables AS (
    SELECT run, host, server, d.database AS name_of, relation, max(live_rows) AS live, CAST(round(sum(coalesce(vacuums, 0))) AS BIGINT) AS vacuums, CAST(round(sum(coalesce(analyzes, 0))) AS BIGINT) AS analyzes
    FROM db_table d GROUP BY run, host, server, d.database, relation
), workers AS (
    SELECT run, host, server, sum(sessions) AS at_work FROM db_session_share WHERE kind = 'autovacuum worker' GROUP BY run, host, server
)
SELECT t.run, t.host, t.server, t.relation, t.vacuums, t.analyzes, s.seen_s, steady(coalesce(w.at_work, 0)) AS workers
FROM tables t JOIN spans s ON s.run = t.run AND s.host = t.host AND s.server IS NOT DISTINCT FROM t.server
LEFT JOIN workers w ON w.run = t.run AND w.host = t.host AND w.server IS NOT DISTINCT FROM t.server
WHERE greatest(t.vacuums, t.analyzes) >= 3 AND greatest(t.vacuums, t.analyzes) >= 0.15 * s.seen_s AND t.live >= 10000 AND s.seen_s >= 5
ORDER BY greatest(t.vacuums, t.analyzes) DESC, t.run, t.host, t.server, t.relation
