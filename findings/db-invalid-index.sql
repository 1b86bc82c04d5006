-- title: An index cannot be used
-- severity: warning
-- section: database
-- message: {index} on {relation} of {server} is not valid.
-- advice: A concurrent build of it failed, or is still at work: queries do not use it, writes maintain it. Drop and build it again (REINDEX CONCURRENTLY).
-- ask: db-unused-indexes
-- world: database
-- yes: db_index server=localhost relation=public.orders index_name=orders_a is_valid=no scans_per_s=0 dt=10 *6
-- no: db_index server=localhost relation=public.orders index_name=orders_a is_valid=yes scans_per_s=0 dt=10 *6
--
-- no: db_index server=localhost relation=public.orders index_name=orders_a is_valid=no scans_per_s=0 dt=10 *3
-- no: db_index server=localhost relation=public.orders index_name=orders_a is_valid=yes scans_per_s=0 dt=10 *3 @30
-- As it was at the end: during a concurrent build it is not valid either.
SELECT run, host, server, relation, index_name AS index
FROM db_index
GROUP BY run, host, server, relation, index_name
HAVING arg_max(is_valid, t) = 'no'
ORDER BY run, host, server, relation, index
