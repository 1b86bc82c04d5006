-- title: What was the load profile?
-- about: What a server did, per second, per transaction and per second of DB time. Per transaction it compares where loads differ, per second of DB time where transactions do.
-- section: database
-- chart: table
-- order: 1
WITH whole AS (
    SELECT *, db.database IS NULL AS is_server FROM db
), best AS (
    SELECT * FROM whole QUALIFY is_server = max(is_server) OVER (PARTITION BY run, host, server)
), moments AS (
    SELECT run, host, server, t, coalesce(any_value(dt), 1) AS dt, sum(commits_per_s) AS commits, sum(rollbacks_per_s) AS rollbacks, sum(statements_per_s) AS statements,
        sum(cache_hits_per_s) AS hits, sum(cache_misses_per_s) AS misses, sum(rows_returned_per_s) AS returned, sum(rows_fetched_per_s) AS fetched,
        sum(rows_inserted_per_s) AS inserted, sum(rows_updated_per_s) AS updated, sum(rows_deleted_per_s) AS deleted, sum(temp_bytes_per_s) AS temp,
        sum(temp_tables_per_s) AS temp_tables, sum(temp_disk_tables_per_s) AS temp_disk_tables, sum(connects_per_s) AS connects, sum(log_bytes_per_s) AS log,
        sum(received_bytes_per_s) AS received, sum(sent_bytes_per_s) AS sent, sum(block_read_time) AS reading, sum(block_write_time) AS writing,
        sum(idle_in_transaction_time) AS idle_in_transaction, sum(sorts_per_s) AS sorts, sum(b.db_time) AS counted
    FROM best b GROUP BY run, host, server, t
), means AS (
    SELECT run, host, server, wmean(commits, dt) AS commits, wmean(rollbacks, dt) AS rollbacks, wmean(statements, dt) AS statements, wmean(hits, dt) AS hits,
        wmean(misses, dt) AS misses, wmean(returned, dt) AS returned, wmean(fetched, dt) AS fetched, wmean(inserted, dt) AS inserted, wmean(updated, dt) AS updated,
        wmean(deleted, dt) AS deleted, wmean(temp, dt) AS temp, wmean(temp_tables, dt) AS temp_tables, wmean(temp_disk_tables, dt) AS temp_disk_tables,
        wmean(connects, dt) AS connects, wmean(log, dt) AS log, wmean(received, dt) AS received, wmean(sent, dt) AS sent, wmean(reading, dt) AS reading,
        wmean(writing, dt) AS writing, wmean(idle_in_transaction, dt) AS idle_in_transaction, wmean(sorts, dt) AS sorts, wmean(counted, dt) AS counted
    FROM moments GROUP BY run, host, server
), classes AS (
    SELECT run, host, server, sum(sessions) FILTER (in_db_time) AS db_time, sum(sessions) FILTER (kind = 'client' AND activity = 'cpu') AS on_cpu,
        sum(sessions) FILTER (kind = 'client' AND activity = 'run queue') AS run_queue
    FROM db_best_wait GROUP BY run, host, server
), executed AS (
    SELECT run, host, server, sum(running) AS running, sum(calls_per_s) AS calls, sum(planning) AS planning, sum(wal_bytes_per_s) AS wal,
        sum(dirtied_blocks_per_s) AS dirtied, sum(written_blocks_per_s) AS written
    FROM db_statement_mean WHERE in_total GROUP BY run, host, server
), logged AS (
    SELECT run, host, server, wmean(wal_bytes_per_s, coalesce(dt, 1)) AS log_bytes FROM db_wal GROUP BY run, host, server
), reported AS (
    SELECT m.*, coalesce(c.db_time, m.counted) AS db_time, coalesce(m.commits + m.rollbacks, m.commits, m.rollbacks) AS transactions, c.on_cpu, c.run_queue,
        e.running, e.calls, e.planning, e.dirtied, e.written, coalesce(m.log, g.log_bytes) AS log_bytes
    FROM means m
    LEFT JOIN classes c ON c.run = m.run AND c.host = m.host AND c.server IS NOT DISTINCT FROM m.server
    LEFT JOIN executed e ON e.run = m.run AND e.host = m.host AND e.server IS NOT DISTINCT FROM m.server
    LEFT JOIN logged g ON g.run = m.run AND g.host = m.host AND g.server IS NOT DISTINCT FROM m.server
), lines AS (
    SELECT run, host, server, transactions, db_time, unnest([
        {'place': 1, 'what': 'DB time', 'unit': 's', 'v': db_time},
        {'place': 2, 'what': 'on CPU', 'unit': 's', 'v': on_cpu},
        {'place': 3, 'what': 'run queue', 'unit': 's', 'v': run_queue},
        {'place': 4, 'what': 'in statements', 'unit': 's', 'v': running},
        {'place': 5, 'what': 'planning', 'unit': 's', 'v': planning},
        {'place': 6, 'what': 'idle in transaction', 'unit': 's', 'v': idle_in_transaction},
        {'place': 7, 'what': 'transactions', 'unit': '', 'v': transactions},
        {'place': 8, 'what': 'commits', 'unit': '', 'v': commits},
        {'place': 9, 'what': 'rollbacks', 'unit': '', 'v': rollbacks},
        {'place': 10, 'what': 'statements', 'unit': '', 'v': coalesce(statements, calls)},
        {'place': 11, 'what': 'logical reads', 'unit': '', 'v': hits + misses},
        {'place': 12, 'what': 'block reads', 'unit': '', 'v': misses},
        {'place': 13, 'what': 'blocks dirtied', 'unit': '', 'v': dirtied},
        {'place': 14, 'what': 'blocks written', 'unit': '', 'v': written},
        {'place': 15, 'what': 'block read time', 'unit': 's', 'v': reading},
        {'place': 16, 'what': 'block write time', 'unit': 's', 'v': writing},
        {'place': 17, 'what': 'rows returned', 'unit': '', 'v': returned},
        {'place': 18, 'what': 'rows fetched', 'unit': '', 'v': fetched},
        {'place': 19, 'what': 'rows inserted', 'unit': '', 'v': inserted},
        {'place': 20, 'what': 'rows updated', 'unit': '', 'v': updated},
        {'place': 21, 'what': 'rows deleted', 'unit': '', 'v': deleted},
        {'place': 22, 'what': 'log', 'unit': 'B', 'v': log_bytes},
        {'place': 23, 'what': 'temporary files', 'unit': 'B', 'v': temp},
        {'place': 24, 'what': 'temporary tables', 'unit': '', 'v': temp_tables},
        {'place': 25, 'what': 'temporary tables on disk', 'unit': '', 'v': temp_disk_tables},
        {'place': 26, 'what': 'sorts', 'unit': '', 'v': sorts},
        {'place': 27, 'what': 'connects', 'unit': '', 'v': connects},
        {'place': 28, 'what': 'received', 'unit': 'B', 'v': received},
        {'place': 29, 'what': 'sent', 'unit': 'B', 'v': sent}
    ]) AS line
    FROM reported
)
SELECT run, host, server, line.what AS what, line.unit AS unit, line.v AS per_second, line.v / nullif(transactions, 0) AS per_transaction,
    line.v / nullif(db_time, 0) AS per_db_second
FROM lines
WHERE line.v IS NOT NULL
ORDER BY run, host, server, line.place
