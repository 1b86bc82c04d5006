-- title: A table has many dead rows
-- severity: warning
-- section: database
-- says: {relation} of {server} has {dead} dead rows, {share:%} of all.
-- advice: They are read and cached as live ones are. Let autovacuum come earlier (autovacuum_vacuum_scale_factor of this table); if it ran and they stayed, an old transaction, a prepared one or a replication slot holds them.
-- ask: db-vacuum
-- yes: db_table server=localhost database=shop relation=public.orders live_rows=100000 dead_rows=60000 dt=10 *6
-- no: db_table server=localhost database=shop relation=public.orders live_rows=1000 dead_rows=900 dt=10 *6
--
-- no: db_table server=localhost database=shop relation=public.orders live_rows=1000000 dead_rows=20000 dt=10 *6
-- A tenth and ten thousand (awesome-prometheus-alerts), as it was at the end.
SELECT run, host, server, relation, CAST(arg_max(dead_rows, t) AS BIGINT) AS dead, 100 * arg_max(dead_rows, t) / (arg_max(dead_rows, t) + arg_max(live_rows, t)) AS share
FROM db_table d
GROUP BY run, host, server, d.database, relation
HAVING arg_max(dead_rows, t) >= 10000 AND arg_max(dead_rows, t) >= 0.1 * (arg_max(dead_rows, t) + arg_max(live_rows, t))
ORDER BY dead DESC, run, host, server, relation
