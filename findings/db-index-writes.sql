-- title: Each row that is written goes into many indexes
-- severity: warning
-- section: database
-- message: {unused} of {indexes} indexes of {relation} ({server}) found no row for anybody, while {writes:/s} rows were written into them.
-- advice: Every insert, and every update that changes an indexed column or moves a row, writes each of them, with its log. Drop those that are not needed, after a look at a whole week and at replicas; combine those that begin with the same columns; load in bulk without them.
-- ask: db-unused-indexes
-- explains: db-hot-low, db-unused-index
-- world: database
-- yes: db_table server=localhost database=shop relation=public.event rows_inserted_per_s=2000 index_hits_per_s=90000 dt=10 *2
-- yes: db_index server=localhost database=shop relation=public.event index_name=i1 scans_per_s=0 is_unique=no dt=10 *2
-- yes: db_index server=localhost database=shop relation=public.event index_name=i2 scans_per_s=0 is_unique=no dt=10 *2
-- yes: db_index server=localhost database=shop relation=public.event index_name=i3 scans_per_s=0 is_unique=no dt=10 *2
-- yes: db_index server=localhost database=shop relation=public.event index_name=i4 scans_per_s=0 is_unique=no dt=10 *2
-- yes: db_index server=localhost database=shop relation=public.event index_name=i5 scans_per_s=0 is_unique=no dt=10 *2
-- yes: db_index server=localhost database=shop relation=public.event index_name=i6 scans_per_s=0 is_unique=no dt=10 *2
-- no: db_table server=localhost database=shop relation=public.event rows_inserted_per_s=2000 index_hits_per_s=12000 dt=10 *2
-- no: db_index server=localhost database=shop relation=public.event index_name=i1 scans_per_s=0 is_unique=no dt=10 *2
-- no: db_index server=localhost database=shop relation=public.event index_name=i2 scans_per_s=0 is_unique=no dt=10 *2
--
-- no: db_table server=localhost database=shop relation=public.event rows_inserted_per_s=2000 index_hits_per_s=90000 dt=10 *2
-- no: db_index server=localhost database=shop relation=public.event index_name=i1 scans_per_s=90 is_unique=no dt=10 *2
-- no: db_index server=localhost database=shop relation=public.event index_name=i2 scans_per_s=90 is_unique=no dt=10 *2
-- no: db_index server=localhost database=shop relation=public.event index_name=i3 scans_per_s=90 is_unique=no dt=10 *2
-- no: db_index server=localhost database=shop relation=public.event index_name=i4 scans_per_s=90 is_unique=no dt=10 *2
-- no: db_index server=localhost database=shop relation=public.event index_name=i5 scans_per_s=90 is_unique=no dt=10 *2
-- no: db_index server=localhost database=shop relation=public.event index_name=i6 scans_per_s=90 is_unique=no dt=10 *2
--
-- no: db_table server=localhost database=shop relation=public.event rows_inserted_per_s=2 dt=10 *2
-- no: db_index server=localhost database=shop relation=public.event index_name=i1 scans_per_s=0 is_unique=no dt=10 *2
-- no: db_index server=localhost database=shop relation=public.event index_name=i2 scans_per_s=0 is_unique=no dt=10 *2
-- no: db_index server=localhost database=shop relation=public.event index_name=i3 scans_per_s=0 is_unique=no dt=10 *2
-- no: db_index server=localhost database=shop relation=public.event index_name=i4 scans_per_s=0 is_unique=no dt=10 *2
-- no: db_index server=localhost database=shop relation=public.event index_name=i5 scans_per_s=0 is_unique=no dt=10 *2
-- no: db_index server=localhost database=shop relation=public.event index_name=i6 scans_per_s=0 is_unique=no dt=10 *2
-- Five indexes that keep nothing unique and that no statement searched in the run, and a hundred rows a second that go into them (HOT updates do not).
WITH written AS (
    SELECT run, host, server, d.database AS name_of, relation, sum((coalesce(rows_inserted_per_s, 0) + greatest(0, coalesce(rows_updated_per_s, 0) - coalesce(rows_hot_updated_per_s, 0))) * dt) AS rows_written
    FROM db_table d GROUP BY run, host, server, d.database, relation
), spans AS (
    SELECT run, host, server, sum(dt) AS seen_s FROM (SELECT DISTINCT run, host, server, t, dt FROM db_table) GROUP BY run, host, server
), indexes AS (
    SELECT run, host, server, name_of, relation, count(*) AS number, count(*) FILTER (scans = 0 AND is_unique = 'no') AS unused
    FROM (SELECT run, host, server, i.database AS name_of, relation, index_name, sum(coalesce(scans_per_s, 0) * dt) AS scans, max(is_unique) AS is_unique FROM db_index i GROUP BY run, host, server, i.database, relation, index_name)
    GROUP BY run, host, server, name_of, relation
)
SELECT w.run, w.host, w.server, w.relation, i.number AS indexes, i.unused, w.rows_written / s.seen_s AS writes
FROM written w
JOIN indexes i ON i.run = w.run AND i.host = w.host AND i.server IS NOT DISTINCT FROM w.server AND i.name_of IS NOT DISTINCT FROM w.name_of AND i.relation = w.relation
JOIN spans s ON s.run = w.run AND s.host = w.host AND s.server IS NOT DISTINCT FROM w.server
WHERE i.unused >= 5 AND w.rows_written >= 100 * s.seen_s AND s.seen_s >= 5
ORDER BY writes DESC, w.run, w.host, w.server, w.relation
