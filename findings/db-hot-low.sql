-- title: Updates of a table write all of its indexes
-- severity: info
-- section: database
-- message: Only {share:%} of {rate:/s} updates of {relation} ({server}) left the indexes alone (HOT).
-- advice: Leave room in the pages (a lower fillfactor), and index no column that changes often.
-- ask: db-vacuum
-- world: database
-- yes: db_table server=localhost database=shop relation=public.orders rows_updated_per_s=200 rows_hot_updated_per_s=20 dt=10 *6
-- no: db_table server=localhost database=shop relation=public.orders rows_updated_per_s=200 rows_hot_updated_per_s=190 dt=10 *6
--
-- no: db_table server=localhost database=shop relation=public.orders rows_updated_per_s=2 rows_hot_updated_per_s=0 dt=10 *6
--
-- no: db_table server=localhost database=shop relation=public.orders rows_updated_per_s=200 dt=10 *6
-- Half of at least ten updates a second.
SELECT run, host, server, relation, wmean(rows_updated_per_s, dt) AS rate, 100 * wmean(rows_hot_updated_per_s, dt) / wmean(rows_updated_per_s, dt) AS share
FROM db_table d
GROUP BY run, host, server, d.database, relation
HAVING sum(rows_updated_per_s * dt) >= 300 AND wmean(rows_updated_per_s, dt) >= 10 AND wmean(rows_hot_updated_per_s, dt) < 0.5 * wmean(rows_updated_per_s, dt) AND sum(dt) >= 5
ORDER BY rate DESC, run, host, server, relation
