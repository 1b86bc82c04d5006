-- title: Most rows of a table are dead
-- severity: warning
-- section: database
-- message: {relation} of {server} has {dead} dead rows beside {live} live ones: {why}.
-- advice: Dead rows are read and cached as live ones are. Let autovacuum come earlier (autovacuum_vacuum_scale_factor, autovacuum_vacuum_cost_limit for this table), and look at whether it is switched off. If it ran and they stayed, an old transaction, a prepared one or a replication slot holds them. Mistaken for a missing index or a cache that is too small: statements read ever more blocks for the same rows.
-- ask: db-vacuum
-- world: database
-- yes: db_table server=localhost database=shop relation=public.orders live_rows=100000 dead_rows=300000 dt=10 *6
-- yes: db_setting server=localhost name=autovacuum value=off
--
-- yes: db_table server=localhost database=shop relation=public.orders live_rows=100000 dead_rows=300000 vacuum_age_s=4000 dt=10 *6
-- yes: db_setting server=localhost name=autovacuum value=on
--
-- yes: db_table server=localhost database=shop relation=public.orders live_rows=100000 dead_rows=300000 vacuum_age_s=40 rows_updated_per_s=100 rows_deleted_per_s=0 vacuums=1 dt=10 *6
-- yes: db_setting server=localhost name=autovacuum value=on
--
-- yes: db_table server=localhost database=shop relation=public.queue live_rows=10 dead_rows=40000 vacuum_age_s=30 full_scans_per_s=100 cache_hits_per_s=80000 cache_misses_per_s=0 rows_updated_per_s=2000 rows_deleted_per_s=0 size_bytes=8e6 dt=10 *6
-- yes: db_setting server=localhost name=autovacuum value=on
-- no: db_table server=localhost database=shop relation=public.orders live_rows=1000 dead_rows=900 dt=10 *6
-- no: db_setting server=localhost name=autovacuum value=off
--
-- no: db_table server=localhost database=shop relation=public.orders live_rows=1000000 dead_rows=190000 vacuum_age_s=4000 dt=10 *6
--
-- no: db_table server=localhost database=shop relation=public.tellers live_rows=100 dead_rows=30000 vacuum_age_s=30 full_scans_per_s=0 index_scans_per_s=900 rows_updated_per_s=900 rows_deleted_per_s=0 vacuums=1 dt=10 *6
-- no: db_setting server=localhost name=autovacuum value=on
--
-- no: db_table server=localhost database=shop relation=public.tellers live_rows=100 dead_rows=30000 full_scans_per_s=0 rows_updated_per_s=900 rows_deleted_per_s=0 dt=10 *4
-- no: db_setting server=localhost name=autovacuum value=on
--
-- no: db_table server=localhost database=shop relation=public.orders live_rows=100000 dead_rows=200000 rows_updated_per_s=9000 rows_deleted_per_s=0 dt=10 *6
-- no: db_setting server=localhost name=autovacuum value=on
--
-- no: db_table server=localhost database=shop relation=public.orders live_rows=100000 dead_rows=300000 vacuum_age_s=4000 dt=10 *6
-- no: db_setting server=localhost name=autovacuum value=on
-- no: db_progress server=localhost session=9 command=VACUUM database=shop relation=public.orders done=3 total=9
-- At least as many dead as live rows at the end, by default five times what brings autovacuum. Either a hundred thousand, and no worker works
-- them off: autovacuum is off; or the last vacuum was over five minutes ago though they were as many at the begin of the run (it looks each
-- minute); or it was a while ago and left more than died since. Or ten thousand, and full scans go through ten thousand blocks a second,
-- twice as many as its live rows could fill at a row a block. A table whose vacuum goes on is being worked off.
WITH tables_seen AS (
    SELECT run, host, server, d.database AS name_of, relation, CAST(arg_max(dead_rows, t) AS BIGINT) AS dead, CAST(arg_max(live_rows, t) AS BIGINT) AS live, min(dead_rows) AS fewest,
        arg_max(vacuum_age_s, t) AS age_s, epoch(max(t)) - epoch(min(t)) + min(dt) AS seen_s, coalesce(wmean(rows_updated_per_s, dt), 0) + coalesce(wmean(rows_deleted_per_s, dt), 0) AS dying,
        wmean(full_scans_per_s, dt) AS scans, wmean(coalesce(cache_hits_per_s, 0) + coalesce(cache_misses_per_s, 0), dt) AS blocks, coalesce(wmean(index_scans_per_s, dt), 0) AS look_ups
    FROM db_table d
    WHERE dead_rows IS NOT NULL
    GROUP BY run, host, server, d.database, relation
), reported AS (
    SELECT run, host, server, bool_or(lower(value) IN ('off', 'false', '0')) AS is_off FROM db_setting WHERE name IN ('autovacuum', 'track_counts') GROUP BY run, host, server
), judged AS (
    SELECT s.*, CASE
        WHEN dead >= 100000 AND coalesce(t.is_off, false) THEN 'autovacuum is off'
        WHEN dead >= 100000 AND fewest >= live AND (age_s > 300 OR age_s IS NULL AND seen_s >= 300) AND NOT EXISTS (
            SELECT 1 FROM db_progress p WHERE p.run = s.run AND p.host = s.host AND p.server IS NOT DISTINCT FROM s.server AND p.command = 'VACUUM' AND p.relation = s.relation)
            THEN coalesce(concat('the last vacuum was ', CAST(CAST(age_s AS BIGINT) AS VARCHAR), ' s ago'), 'it was never vacuumed')
        WHEN dead >= 100000 AND age_s <= 300 AND age_s >= 5 AND dead > 2 * dying * (age_s + 10) + 10000 THEN concat('a vacuum ', CAST(CAST(age_s AS BIGINT) AS VARCHAR), ' s ago could not remove them')
        WHEN scans >= 1 AND blocks - look_ups >= 10000 AND (blocks - look_ups) / scans >= 2 * (live + 1) THEN concat('each full scan reads ', CAST(CAST((blocks - look_ups) / scans AS BIGINT) AS VARCHAR), ' blocks, ', CAST(CAST(scans AS BIGINT) AS VARCHAR), ' times a second')
        END AS why
    FROM tables_seen s
    LEFT JOIN reported t ON t.run = s.run AND t.host = s.host AND t.server IS NOT DISTINCT FROM s.server
    WHERE dead >= 10000 AND dead >= live
)
SELECT run, host, server, relation, dead, live, why FROM judged WHERE why IS NOT NULL ORDER BY dead DESC, run, host, server, relation
