-- title: An index only costs
-- severity: info
-- section: database
-- message: {index} of {server} has {size:B}, its table had {writes:/s} rows written, and nothing used it in {seen_s:s}.
-- advice: Each write maintains it. Look at a whole week and at replicas before dropping it: reports of a month's end may need it.
-- ask: db-unused-indexes
-- world: database
-- yes: db_table server=localhost database=shop relation=public.orders rows_inserted_per_s=100 dt=10 *70
-- yes: db_index server=localhost database=shop relation=public.orders index_name=orders_old scans_per_s=0 size_bytes=5e7 is_unique=no is_valid=yes dt=10 *70
-- no: db_table server=localhost database=shop relation=public.orders rows_inserted_per_s=100 dt=10 *70
-- no: db_index server=localhost database=shop relation=public.orders index_name=orders_pkey scans_per_s=0 size_bytes=5e7 is_unique=yes is_valid=yes dt=10 *70
--
-- no: db_table server=localhost database=shop relation=public.orders rows_inserted_per_s=100 dt=10 *10
-- no: db_index server=localhost database=shop relation=public.orders index_name=orders_old scans_per_s=0 size_bytes=5e7 is_unique=no is_valid=yes dt=10 *10
--
-- no: db_table server=localhost database=shop relation=public.orders rows_inserted_per_s=100 dt=10 *70
-- no: db_index server=localhost database=shop relation=public.orders index_name=orders_old scans_per_s=0.01 size_bytes=5e7 is_unique=no is_valid=yes dt=10 *70
-- 10 MiB (postgresqltuner looks at all), ten minutes, and a row written each second.
WITH written AS (
    SELECT run, host, server, d.database AS name_of, relation, sum((coalesce(rows_inserted_per_s, 0) + coalesce(rows_updated_per_s, 0) + coalesce(rows_deleted_per_s, 0)) * dt) AS rows_written
    FROM db_table d
    GROUP BY run, host, server, d.database, relation
), spans AS (
    SELECT run, host, server, sum(dt) AS seen_s FROM (SELECT DISTINCT run, host, server, t, dt FROM db_table) GROUP BY run, host, server
), unused AS (
    SELECT run, host, server, i.database AS name_of, relation, index_name, arg_max(size_bytes, t) AS size, sum(scans_per_s * dt) AS scans, max(is_unique) AS is_unique
    FROM db_index i
    GROUP BY run, host, server, i.database, relation, index_name
)
SELECT u.run, u.host, u.server, u.index_name AS index, u.size, w.rows_written / s.seen_s AS writes, s.seen_s
FROM unused u
JOIN written w ON w.run = u.run AND w.host = u.host AND w.server IS NOT DISTINCT FROM u.server AND w.name_of IS NOT DISTINCT FROM u.name_of AND w.relation = u.relation
JOIN spans s ON s.run = u.run AND s.host = u.host AND s.server IS NOT DISTINCT FROM u.server
WHERE u.scans = 0 AND u.is_unique = 'no' AND u.size >= 10485760 AND s.seen_s >= 600 AND w.rows_written >= s.seen_s
ORDER BY u.size DESC, u.run, u.host, u.server, u.index_name
